import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { commands } from '../commands.ts';
import { buildOptions } from '../stemcell/build-arguments.ts';
import { commandHelp, usage } from './usage.ts';

const main = join(import.meta.dirname, '..', 'main.ts');

test('--help after a command or sub-command only prints its usage', async () => {
  const help = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [main, ...args])).stdout;
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

test('every command supports --help, but passes it on to a command that it runs', () => {
  for (const command of commands) {
    assert.match(commandHelp(command, ['--help']) ?? '', new RegExp(`bosh-kubernetes ${command.name}`, 'u'));
    assert.equal(commandHelp(command, ['a', '--', 'ls', '--help']), undefined);
  }
});

test('the list of all commands fits a screen, and an unknown command does not print it', async () => {
  const list = usage(commands);
  const listed = commands.filter(({ subCommands }) => subCommands?.length !== 0);
  for (const { name } of listed) assert.match(list, new RegExp(`^ {2}${name}( |$)`, 'mu'));
  const widest = Math.max(...list.split('\n').map((line) => line.length));
  assert.ok(widest <= 150, `${widest} columns`);
  assert.match(list, /^ {2}cluster start\|stop\|status\|kubeconfig {2}/mu);
  assert.match(list, /^ {2}tunnel --stdio HOST PORT {2}/mu);

  const suggestion = promisify(execFile)(process.execPath, [main, 'upp']);

  await assert.rejects(suggestion, {
    stdout: '',
    stderr: "bosh-kubernetes: there is no command 'upp'; bosh-kubernetes help lists all\n",
  });
});

test('the help of stemcell build names every option, and a page that explains them', () => {
  const stemcell = commands.find(({ name }) => name === 'stemcell');
  const help = commandHelp(stemcell ?? assert.fail(), ['build', '--help']) ?? '';
  for (const option of Object.keys(buildOptions)) assert.ok(help.includes(`--${option}`), option);
  assert.match(help, /\ndocs\/stemcells\.md explains them\.\n$/u);
});
