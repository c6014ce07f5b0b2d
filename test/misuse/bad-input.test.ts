import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { promisify } from 'node:util';
import { mainModulePath } from '../../src/cli/installation.ts';
import { root } from '../crash/support/cpi-variant.ts';
import { assertSucceeded } from '../crash/support/converged.ts';
import { OperatorEnvironment, type Outcome } from '../crash/support/operator-environment.ts';

let line: OperatorEnvironment;
let original: string;

before(async () => {
  line = await OperatorEnvironment.prepare({ address: '127.64.78.50' });
  original = await readFile(line.manifestPath, 'utf8');
  assertSucceeded(await line.command(['cluster', 'start']));
});
afterEach(() => writeFile(line.manifestPath, original));
after(() => line.remove());

function assertRefused({ exitCode, stdout, stderr }: Outcome, ...args: readonly (string | RegExp)[]): void {
  assert.notEqual(exitCode, 0, stdout);
  for (const word of args) {
    if (typeof word === 'string') assert.ok(stderr.includes(word), `${word} is not in: ${stderr}`);
    else assert.match(stderr, word);
  }
  assert.doesNotMatch(stderr, /^ +at /m);
}

async function edit(from: string | RegExp, to: string): Promise<void> {
  const text = original.replace(from, to);
  assert.notEqual(text, original);
  await writeFile(line.manifestPath, text);
}

for (const [what, from, to, ...args] of [
  ['an unterminated list', 'releases:', 'releases: [', /manifest\.yml:\d+:\d+: /],
  ['a tab', '  - name: hello\n    url', '\t- name: hello\n    url', 'Tabs are not allowed'],
  ['a duplicate key', 'name: hello\n', 'name: hello\nname: other\n', 'Map keys must be unique'],
  ['a missing name', 'name: hello\n', '', 'name: must be provided'],
  [
    'a size that is not a number',
    'disk_size: 64',
    'disk_size: big',
    'disk_pools[0].disk_size: expected a whole number',
  ],
  ['an unknown pool', 'resource_pool: vms', 'resource_pool: vmz', "there is no resource pool 'vmz'"],
  ['two instances', 'instances: 1', 'instances: 2', 'instance_groups[0].instances: must be 1'],
  ['an address out of range', /static_ips: .*/, 'static_ips: [10.0.0.1]', "'10.0.0.1' is not in the range"],
  ['an invalid address', /static_ips: .*/, 'static_ips: [127.64.78.500]', "'127.64.78.500' is not an IP"],
  ['an unknown variable', 'audience: operators', 'audience: ((nobody))', "variable 'nobody'"],
  [
    'an invalid digest',
    'hello-release.tgz',
    'hello-release.tgz\n    sha1: xyz',
    "releases[1].sha1: 'xyz' is not",
  ],
  [
    'an unknown job',
    '- name: hello\n        release: hello',
    '- name: hallo\n        release: hello',
    "instance_groups[0].jobs[0].name: 'hallo' is not a job of release 'hello'",
  ],
] as const) {
  test(`the error for a manifest with ${what} names line and key`, async () => {
    await edit(from, to);

    const refused = await line.createEnv();

    assertRefused(refused, '[MANIFEST_INVALID]', /manifest\.yml:[1-9]\d*:[1-9]\d*: /, ...args);
  });
}

const digest = /sha256:[0-9a-f]{64}/;
for (const [archive, indent] of [
  ['hello-release.tgz', ' '.repeat(4)],
  ['embedded-stemcell.tgz', ' '.repeat(6)],
] as const) {
  const url = new RegExp(`file:.*${archive}`);

  test(`the error for a missing, truncated or different ${archive} names file and digest`, async () => {
    const missing = `Cannot read '${join(root, 'dist', 'nothing.tgz')}': it does not exist`;
    await edit(archive, 'nothing.tgz');
    assertRefused(await line.createEnv(), missing, '[FILE_NOT_FOUND]');
    await edit(archive, `nothing.tgz\n${indent}sha1: ${'0'.repeat(40)}`);
    assertRefused(await line.createEnv(), `${missing}, expected ${'0'.repeat(40)}`, '[FILE_NOT_FOUND]');

    const cut = join(line.directory, 'cut.tgz');
    const whole = await readFile(join(root, 'dist', archive));
    await writeFile(cut, whole.subarray(0, whole.length / 2));
    await edit(url, `file://${cut}`);
    assertRefused(await line.createEnv(), `'${cut}'`, digest, '[ARCHIVE_INVALID]');

    await edit(archive, `${archive}\n${indent}sha1: ${'0'.repeat(40)}`);
    assertRefused(
      await line.createEnv(),
      `'${join(root, 'dist', archive)}'`,
      /has the digest [0-9a-f]{40}, expected 0{40}/,
      '[DIGEST_MISMATCH]',
    );
  });
}

for (const [what, script, ...args] of [
  ['prints garbage', 'echo trouble >&2; echo "<html>"', "STDOUT: '<html>", "STDERR: 'trouble'"],
  ['exits non-zero', 'echo first >&2; echo last >&2; exit 3', /first\n +last/, 'exit status 3'],
  ['prints nothing', 'exit 0', "STDOUT: ''"],
  ['is killed', 'echo dying >&2; kill -9 $$', "stderr: 'dying'", 'SIGKILL'],
] as const) {
  test(`a CPI that ${what} is reported with its last output`, async () => {
    await line.replaceCpi(`#!/bin/sh\ncat > /dev/null\n${script}\n`);

    assertRefused(await line.createEnv(), '[CPI_FAILED]', ...args);
  });
}

test('a CPI that hangs is killed a while after Ctrl-C and reported with its last output', async () => {
  await line.replaceCpi('#!/bin/sh\ncat > /dev/null\necho "waiting for nobody" >&2\nexec sleep 1000\n');
  let interrupted = false;

  const outcome = await line.createEnv({
    onOutput: (stdout, deployer) => {
      if (interrupted || !stdout.includes('Finished installing CPI')) return;
      interrupted = true;
      setTimeout(() => deployer.kill('SIGINT'), 200);
    },
  });

  const killed =
    /CPI 'info' did not end within \d+ s of the interrupt and was killed; the next run repeats it/;
  assertRefused(outcome, killed, 'waiting for nobody', '[INTERRUPTED]');
});

test('invalid arguments on the command line are named', async () => {
  assertRefused(await line.command(['upp']), "there is no command 'upp'");
  assertRefused(await line.command(['create-env']), 'A manifest is missing', '[INVALID_ARGUMENT]');
  assertRefused(await line.command(['up', '--forse', 'x']), "Unknown option '--forse'", '[INVALID_ARGUMENT]');
  assertRefused(await line.command(['up', 'nothing.yml']), "There is no manifest '", '[FILE_NOT_FOUND]');
  for (const [command, flag] of [
    ['create-env', '--force'],
    ['delete-env', '--recreate'],
    ['destroy', '--recreate'],
  ] as const) {
    const refused = await line.command([command, line.manifestPath, flag]);
    assertRefused(refused, `'${command}' takes no `, flag, '[INVALID_ARGUMENT]');
  }
  const inline = await line.command(['up', 'x.yml', '-v', 'kubeconfig={}']);
  assertRefused(inline, '--var-file kubeconfig=FILE', '[INVALID_ARGUMENT]');
  assertRefused(await line.command(['status', '--nope']), "Unknown option '--nope'", '[INVALID_ARGUMENT]');
  assertRefused(await line.command(['stop', 'it']), "'it'", '[INVALID_ARGUMENT]');
  assertRefused(await line.command(['status', '--kubeconfig', '/nothing']), "'/nothing'", '[FILE_NOT_FOUND]');
  assert.equal((await line.command(['cluster', 'status'])).exitCode, 0);
});

test('a home that is not writable is named, with the remedy', async () => {
  const environment = { BOSH_KUBERNETES_HOME: line.manifestPath };

  const refused = await line.up({ environment });

  assertRefused(refused, `'${line.manifestPath}'`, 'BOSH_KUBERNETES_HOME', '[HOME_NOT_WRITABLE]');
});

test('a home that the system can never have is refused too', async () => {
  const refused = await line.command(['cluster', 'start'], {
    environment: { BOSH_KUBERNETES_HOME: '/proc/there-is-no/home' },
  });
  assertRefused(refused, "'/proc/there-is-no/home'", 'BOSH_KUBERNETES_HOME', '[HOME_NOT_WRITABLE]');
});

test('if the reader of its output ends, the run ends at a safe point', async () => {
  const script = '"$0" "$1" up "$2" | head -1';
  const args = ['-c', script, process.execPath, mainModulePath(root), line.manifestPath];
  const { stdout, stderr } = await promisify(execFile)('/bin/sh', args, {
    env: { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: line.home },
  });

  assert.match(stdout, /^Deployment manifest: .*\n$/);
  assert.match(stderr, /\[INTERRUPTED\]/);
  assert.deepEqual(await line.objects(), { vms: [], attachments: [], disks: [], secrets: [] });
});
