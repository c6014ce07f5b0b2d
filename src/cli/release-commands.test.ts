import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { boshCli } from '../../test/support/upstream-programs.ts';
import { writeReleaseFixture } from '../bosh/testing/release-fixture.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { knownSecrets } from '../errors/redact/redactor.ts';
import type { CommandContext } from './command.ts';
import { createRelease, inspectLocalRelease } from './commands/release.ts';
import { locateInstallation } from './installation.ts';
import { jsonTerminal } from './output/json-terminal.ts';

const main = join(import.meta.dirname, 'main.ts');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in `home`, which also contains the cache of archives. */
function run(home: string, program: string, args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env['PATH'], HOME: home, BOSH_KUBERNETES_HOME: join(home, 'kept') };
  return new Promise((resolve) => {
    execFile(program, [...args], { cwd: home, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

interface Response {
  readonly Tables:
    | readonly { readonly Content: string; readonly Rows: readonly Record<string, string>[] }[]
    | null;
  readonly Blocks: readonly string[] | null;
  readonly Lines: readonly string[];
}

test('create-release and inspect-local-release print tables, or with --json one object in the format of the bosh CLI', async (t) => {
  const home = await scratchDirectory(t);
  await writeReleaseFixture(join(home, 'release'));
  await writeFile(join(home, 'release/packages/base/spec'), '---\nname: base\nfiles: [both/*]\n');
  await writeFile(join(home, 'release/packages/zlib/spec'), '---\nname: zlib\nfiles: [both/*]\n');
  await run(home, 'rm', ['-r', 'release/blobs', 'release/config/blobs.yml']);
  const ours = (...args: string[]): Promise<Ended> => run(home, process.execPath, [main, ...args]);

  const created = await ours(
    'create-release',
    '--dir',
    'release',
    '--tarball',
    '((name)).tgz',
    '--version',
    '1.0',
    '--json',
  );
  assert.deepEqual([created.code, created.stderr], [0, '']);
  const { Tables, Blocks, Lines } = JSON.parse(created.stdout) as Response;
  assert.deepEqual([Blocks, Lines], [null, ["Added dev release 'fixture/1.0'", 'Succeeded']]);
  assert.deepEqual(
    Tables?.map(({ Content }) => Content),
    ['', 'jobs', 'packages'],
  );
  const archive = join(home, 'fixture.tgz');
  assert.deepEqual(Tables[0]?.Rows, [{ name: 'fixture', version: '1.0', commit_hash: 'non-git', archive }]);
  assert.equal(Tables[2]?.Rows[0]?.['dependencies'], 'zlib\nbase');

  const inspected = await ours('inspect-local-release', archive, '--json');
  assert.deepEqual((JSON.parse(inspected.stdout) as Response).Tables, Tables);
  const bosh = boshCli();
  if (bosh !== undefined) {
    const upstream = await run(home, bosh, ['inspect-local-release', archive, '--json']);
    assert.deepEqual(JSON.parse(inspected.stdout), JSON.parse(upstream.stdout));
  }
  const text = await ours('inspect-local-release', archive);
  assert.match(text.stdout, /^Name +Version +Commit Hash +Archive\nfixture +1\.0 +non-git +/u);
  assert.match(text.stdout, /^app\/[0-9a-f]{64} +sha256:[0-9a-f]{64} +zlib, base$/mu);

  const again = await ours('create-release', '--dir', 'release', '--version', '1.0', '--json');
  const refusal = JSON.parse(again.stdout) as Response;
  assert.deepEqual([again.code, again.stderr, refusal.Tables], [1, '', null]);
  assert.match(refusal.Lines[0] ?? '', /already exists.*\[RELEASE_EXISTS\]$/u);
  assert.equal(refusal.Lines[1], 'Exit code 1');
});

test('the release commands refuse unknown arguments with the usage', async (t) => {
  const home = await scratchDirectory(t);
  const context: CommandContext = {
    installation: locateInstallation({}),
    terminal: jsonTerminal(() => undefined).terminal,
    secrets: knownSecrets(),
    environment: { HOME: home },
    signal: new AbortController().signal,
  };
  for (const [command, args, message] of [
    [createRelease, ['--version', '1..2'], /--version needs a version/u],
    [createRelease, ['--name', '../x'], /--name: "\.\.\/x" cannot be the name/u],
    [createRelease, ['--url', 'x'], /does not accept --url\. Usage: create-release/u],
    [createRelease, ['--colour'], /Unknown option '--colour'\. Usage: create-release/u],
    [createRelease, ['one.yml', 'two.yml'], /Name one release manifest/u],
    [inspectLocalRelease, [], /Name one release archive\. Usage: inspect-local-release/u],
  ] as const)
    await assert.rejects(command.run(args, context), { code: 'INVALID_ARGUMENT', message });
  const missing = inspectLocalRelease.run([join(home, 'none.tgz')], context);
  await assert.rejects(missing, { code: 'FILE_NOT_FOUND', message: /none\.tgz/u });
});

test('interpolate --json prints the text as a block, and an error as a line with exit code 1', async (t) => {
  const home = await scratchDirectory(t);
  await writeFile(join(home, 'file.yml'), 'a: ((b))\n');
  const ours = (...args: string[]): Promise<Ended> =>
    run(home, process.execPath, [main, 'int', 'file.yml', '--json', ...args]);
  const good = await ours('-v', 'b=1');
  assert.deepEqual(JSON.parse(good.stdout), { Tables: null, Blocks: ['a: 1\n'], Lines: ['Succeeded'] });
  const bad = await ours('--var-errs');
  assert.deepEqual([bad.code, bad.stderr], [1, '']);
  assert.match((JSON.parse(bad.stdout) as Response).Lines.join('\n'), /variable 'b' .*\nExit code 1$/u);
});
