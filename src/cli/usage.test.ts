import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { commands } from './commands.ts';
import { commandHelp } from './usage.ts';

const main = join(import.meta.dirname, 'main.ts');

test('a command and a sub-command with --help print their usage, and do nothing else', async () => {
  const help = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [main, ...words])).stdout;
  assert.match(
    await help('stemcell', 'build', '--help'),
    /^ {2}bosh-kubernetes stemcell build \(--from-debian/mu,
  );
  assert.doesNotMatch(await help('stemcell', 'build', '--help'), /stemcell push/u);
  assert.match(await help('stemcell', 'build', '--help'), /[^\n]\n$/u, 'the prompt is on a line of its own');
  assert.match(
    await help('create-env', 'no-manifest.yml', '--help'),
    /^ {2}bosh-kubernetes create-env MANIFEST/mu,
  );
});

test('a sub-command named in the usage of its command has a usage of its own', () => {
  for (const command of commands) {
    // For example `init|print-env ...`.
    const [, names = ''] = /^([a-z-]+(?:\|[a-z-]+)+) \.\.\.$/u.exec(command.usage) ?? [];
    for (const name of names.split('|').filter((each) => each !== '')) {
      const own = new RegExp(`^ {2}bosh-kubernetes ${command.name} ${name}( |$)`, 'mu');
      assert.match(commandHelp(command, [name, '--help']) ?? '', own);
    }
  }
});

test('every command answers --help, but not for a command that it runs', () => {
  for (const command of commands) {
    assert.match(commandHelp(command, ['--help']) ?? '', new RegExp(`bosh-kubernetes ${command.name}`, 'u'));
    assert.equal(commandHelp(command, ['a', '--', 'ls', '--help']), undefined);
  }
});
