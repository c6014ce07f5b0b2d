import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { commands } from '../commands.ts';
import { complete, type Completion } from './complete.ts';
import { completionPorts } from './completion-ports.ts';
import { shells, type Shell } from './shell-scripts.ts';
import { unquote } from './unquote.ts';

const deployment = { word: 'a b.yml', description: 'VM vm-1, disk pvc-1' };
const ports = {
  deployments: async () => [deployment],
  contexts: async (kubeconfig?: string) => [{ word: `kind-${kubeconfig ?? 'usual'}`, description: '' }],
  cids: async (...request: readonly unknown[]) => [{ word: `cid-${request.join()}`, description: '' }],
};

const after = (line: string): Promise<Completion> => {
  const words = line.split(' ');
  return complete(commands, words.slice(0, -1), words.at(-1) ?? '', ports);
};

test('completes commands, sub-commands, flags, their values and operands', async () => {
  for (const [line, words, paths] of [
    ['cre', ['create-env', 'create-release'], 'none'],
    ['help stemc', ['stemcell'], 'none'],
    ['help stemcell pu', ['push'], 'none'],
    ['stemcell p', ['push', 'pre-pull'], 'none'],
    ['tunnel s', ['stop'], 'none'],
    ['create-env --recreate-', ['--recreate-persistent-disks'], 'none'],
    ['create-env --recreate --recr', ['--recreate-persistent-disks'], 'none'],
    [
      'create-env -v a=b -v c=d --va',
      ['--vars-store', '--var', '--var-file', '--vars-file', '--vars-env'],
      'none',
    ],
    ['director init --way n', ['nodeport'], 'none'],
    ['director init --way=n', ['--way=nodeport'], 'none'],
    ['director init --context k', ['kind-usual'], 'none'],
    ['director init --kubeconfig x --context k', ['kind-x'], 'none'],
    ['director init --kubeconfig=x --context k', ['kind-x'], 'none'],
    ['state restore m.yml --vm ', ['cid-vm,m.yml,'], 'none'],
    ['state restore -v a=b m.yml --state=s.json --disk ', ['cid-disk,m.yml,s.json'], 'none'],
    ['state restore --disk ', [], 'none'],
    ['create-env -o x', [], 'files'],
    ['create-env x', [], 'files'],
    ['logs --dir x', [], 'directories'],
    ['ssh a', ['a b.yml'], 'paths'],
    ['ssh x', [], 'files'],
    ['ssh m.yml -- ls x', [], 'files'],
    ['scp m.yml v', ['vm:'], 'none'],
    ['scp m.yml vm:/a x', [], 'files'],
    ['no-command x', [], 'none'],
    ['socks5', [], 'none'],
  ] as const) {
    const completion = await after(line);
    assert.deepEqual([completion.candidates.map(({ word }) => word), completion.paths], [words, paths], line);
  }
});

test('reads words as bash does', () => {
  for (const [word, value] of [
    [String.raw`a\ b`, 'a b'],
    [`'a b'c`, 'a bc'],
    [String.raw`"a \"b\" \c"`, String.raw`a "b" \c`],
    [`"open`, 'open'],
    ['plain', 'plain'],
  ] as const)
    assert.equal(unquote(word), value);
});

test('a kubeconfig that is a pipe has no contexts, and is not waited for', async (t) => {
  const pipe = join(await scratchDirectory(t), 'pipe');
  spawnSync('mkfifo', [pipe]);
  assert.deepEqual(await completionPorts({}).contexts(pipe), []);
});

test('a state file that cannot be read hides only its own deployment', async (t) => {
  const directory = await scratchDirectory(t);
  const state = JSON.stringify({ ...emptyState, installation_id: 'i', current_vm_cid: 'vm-1' });
  for (const name of ['a', 'b']) {
    await writeFile(join(directory, `${name}.yml`), 'name: x\n');
    await writeFile(join(directory, `${name}-state.json`), state);
  }
  // The name of its state file is too long for the file system.
  await writeFile(join(directory, `${'c'.repeat(250)}.yml`), 'name: x\n');
  const found = await completionPorts({}).deployments(`${directory}/`);
  assert.deepEqual(found.map(({ word }) => word).toSorted(), [
    join(directory, 'a.yml'),
    join(directory, 'b.yml'),
  ]);
});

test('the cids of a lost state file are those of the recorded CPI calls that were not deleted', async (t) => {
  const directory = await scratchDirectory(t);
  const record = (second: number, method: string, cids: readonly string[], result = 'ok'): string => {
    const start = `2026-01-01T00:00:0${second}.000Z`;
    const requests = { reads: 0, writes: 0, execs: 0 };
    return JSON.stringify({
      bosh_kubernetes_cpi: 1,
      ...{ method, cids, start, end: start, requests, phases: [], result },
    });
  };
  const log = [
    record(1, 'create_vm', ['vm-1']),
    record(2, 'create_disk', ['disk-1']),
    record(3, 'attach_disk', ['vm-1', 'disk-1']),
    record(4, 'delete_vm', ['vm-1']),
    record(5, 'create_vm', ['vm-2']),
    record(6, 'delete_vm', ['vm-2'], 'Bosh::Clouds::CloudError'),
  ];
  await writeFile(join(directory, 'm-state.json.trace'), log.map((line) => `${line}\n`).join(''));
  const { cids } = completionPorts({});
  const manifest = join(directory, 'm.yml');
  assert.deepEqual(await cids('vm', manifest, undefined), [
    { word: 'vm-2', description: 'delete_vm at 2026-01-01T00:00:06.000Z' },
  ]);
  assert.deepEqual(await cids('disk', manifest, undefined), [
    { word: 'disk-1', description: 'attach_disk at 2026-01-01T00:00:03.000Z' },
  ]);
  assert.deepEqual(await cids('vm', manifest, join(directory, 'other.json')), []);
});

/** Prints the candidates of a command line, one a line. */
const asking: Readonly<Record<Shell, { readonly args: readonly string[]; readonly script: string }>> = {
  // The line is split at blanks, = and :, as bash does.
  bash: {
    args: ['--norc', '--noprofile', '-c'],
    script: String.raw`. ./script; COMP_LINE=$LINE; COMP_POINT=${'$'}{#LINE}
      eval "COMP_WORDS=($(sed -E 's/([=:])/ \1 /g' <<<"$LINE") $([[ $LINE == *[\ =:] ]] && echo "''"))"
      [[ -z ${'$'}{COMP_WORDS[-1]} ]] || COMP_WORDS=("${'$'}{COMP_WORDS[@]}")
      COMP_CWORD=$((${'$'}{#COMP_WORDS[@]} - 1)); _bosh_kubernetes; printf '%s\n' "${'$'}{COMPREPLY[@]}"`,
  },
  // A pseudo terminal is the only way to ask zsh.
  zsh: {
    args: ['-f', '-c'],
    script: String.raw`zmodload zsh/zpty; zpty z "PS1=; TERM=dumb zsh -f -i"
      zpty -w z 'autoload -U compinit; compinit -u -D; . ./script
        bosh-kubernetes() {
          if [[ $1 == __complete ]]; then command bosh-kubernetes "$@"; else print -r -- "<$*>"; fi
        }; print RE""ADY'
      zpty -r z line '*READY*'
      zpty -n -w z "$LINE"$'\t\n'; zpty -r z line '*<*>*'; print -r -- ${'$'}{line##*<}`,
  },
  fish: { args: ['--no-config', '-c'], script: 'source ./script; complete -C $LINE | string split -f1 \\t' },
};

async function withDeployment(t: TestContext): Promise<string> {
  const directory = await scratchDirectory(t);
  await writeFile(join(directory, 'a $b.yml'), 'name: x\n');
  const disks = [{ id: 'd', cid: 'pvc-1', size: 1, cloud_properties: {} }];
  const state = { ...emptyState, installation_id: 'i', current_vm_cid: 'vm-1', disks };
  await writeFile(join(directory, 'a $b-state.json'), JSON.stringify(state));
  await mkdir(join(directory, 'my dir'));
  await mkdir(join(directory, '.kube'));
  const contexts = [{ name: 'ctx$(true$IFS)x y', context: { cluster: 'c', user: 'u' } }];
  await writeFile(join(directory, '.kube', 'config'), JSON.stringify({ contexts }));
  const main = join(import.meta.dirname, '..', 'main.ts');
  await writeFile(
    join(directory, 'bosh-kubernetes'),
    `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`,
  );
  await chmod(join(directory, 'bosh-kubernetes'), 0o755);
  return directory;
}

for (const shell of shells)
  test(
    `${shell} completes names with special characters and values of flags`,
    { skip: spawnSync(shell, ['--version']).status !== 0 && `needs ${shell}` },
    async (t) => {
      const directory = await withDeployment(t);
      const run = (command: string, args: readonly string[], line = ''): string => {
        const env = { PATH: `${directory}:${process.env['PATH']}`, HOME: directory, LINE: line };
        const { stdout, stderr } = spawnSync(command, args, { cwd: directory, env, encoding: 'utf8' });
        assert.equal(stderr, '');
        return stdout;
      };
      await writeFile(join(directory, 'script'), run('bosh-kubernetes', ['completion', shell]));
      const { args, script } = asking[shell];
      for (const [line, expected] of [
        ['bosh-kubernetes ssh a', /a \$b\.yml|a\\ \\\$b\.yml/u],
        ['bosh-kubernetes director init --way=n', /nodeport/u],
        ['bosh-kubernetes logs --dir my', /my dir|my\\ dir/u],
        [
          'bosh-kubernetes director init --context ctx',
          shell === 'bash' ? /^ctx\\\$\\\(true\\\$IFS\\\)x\\ y$/mu : /ctx\$\(true\$IFS\)x y/u,
        ],
      ] as const)
        assert.match(run(shell, [...args, script], line), expected, line);
    },
  );
