import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseArgs, promisify } from 'node:util';
import type { Command, SubCommand } from '../command.ts';
import { commands } from '../commands.ts';
import product from '../../../package.json' with { type: 'json' };
import { allFlags, commandHelp, usage } from './usage.ts';

const shown = commands.filter(({ isHidden }) => isHidden !== true);
const main = join(import.meta.dirname, '..', 'main.ts');
const checkout = join(import.meta.dirname, '..', '..', '..');

interface Page {
  readonly name: string;
  readonly help: string;
  readonly command: Command;
  /** Undefined for a command that only has sub-commands. */
  readonly leaf: SubCommand | undefined;
}

function pages(columns?: number): Page[] {
  return shown.flatMap((command) => {
    const { name, subCommands = [] } = command;
    const isGroup = command.flags === undefined && subCommands.length > 0;
    const own = commandHelp(command, ['--help'], columns) ?? assert.fail(name);
    return [
      { name, command, help: own, leaf: isGroup ? undefined : command },
      ...subCommands.map((leaf) => ({
        ...{ name: `${name} ${leaf.name}`, command, leaf },
        help: commandHelp(command, [leaf.name, '-h'], columns) ?? assert.fail(leaf.name),
      })),
    ];
  });
}

const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

test('the help of the commands for a deployment and a cluster names a page', () => {
  for (const name of ['up', 'stop', 'destroy', 'ssh', 'scp', 'logs', 'cluster']) {
    const command = commands.find((each) => each.name === name);
    assert.match((command && commandHelp(command, ['--help'])) ?? '', /docs\/[a-z-]+\.md/u, name);
  }
});

test('the help of every command fits a screen', () => {
  for (const { name, help } of pages()) {
    assert.ok(help.trimEnd().split('\n').length <= 24, `${name}: ${help}`);
    assert.ok(widest(help) <= 80, `${name}: ${help}`);
    assert.match(help, new RegExp(`^Usage: bosh-kubernetes ${name}( |$)`, 'mu'));
  }
});

test('the help explains every flag in one line, or names it', () => {
  for (const { name, help, command, leaf } of pages()) {
    if (leaf === undefined) continue;
    for (const [flag, { help: text = '', isRare }] of Object.entries(allFlags(leaf, command))) {
      assert.ok(text !== '', `${name} --${flag} has no explanation`);
      if (isRare === true) assert.ok(help.includes(`--${flag}`), `${name} --${flag}`);
      else assert.match(help, new RegExp(`--${flag}( .*)? {2}\\S`, 'u'), `${name} --${flag}`);
      if (isRare !== true)
        assert.ok(help.replaceAll(/\n {2,}/gu, '\n').includes(text), `${name} --${flag}: one line`);
    }
  }
});

test('the example of every command has flags that the command accepts, and the page exists', () => {
  for (const { name, command, leaf } of pages()) {
    if (leaf === undefined) continue;
    const { example = '', documentation = command.documentation } = leaf;
    const args = example.split(/ -- |(?:^| )[>|] /u)[0]?.split(' ') ?? [];
    const needsExample = leaf.usage !== '' || leaf.flags !== undefined;
    assert.equal(example !== '' || !needsExample || leaf.flags === undefined, true, name);
    const options = { ...allFlags(leaf, command) };
    const parse = (): unknown =>
      parseArgs({ args: args.filter((word) => word !== '--from-debian'), options, allowPositionals: true });
    assert.doesNotThrow(parse, name);
    if (documentation !== undefined) assert.ok(existsSync(join(checkout, documentation)), documentation);
  }
});

test('on a terminal of 40 columns the help is no wider', () => {
  for (const { name, help } of pages(40)) {
    const lines = help.split('\n').filter((line) => line.length > 40);
    // A word that is longer than the terminal is not broken.
    for (const line of lines) assert.match(line.trim(), /^\S+( \S{14,})?$/u, `${name}: ${line}`);
  }
  assert.ok(widest(usage(commands, 40)) <= 40, usage(commands, 40));
});

test('arguments of another program are not a request for help', () => {
  for (const command of commands)
    assert.equal(commandHelp(command, ['a', '--', 'ls', '--help', '-h']), undefined);
});

test('help, help COMMAND and --help print the help, and --version the version; the list has one line for each command', async () => {
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [main, ...args])).stdout;
  const help = await run('stemcell', 'build', '--help');
  assert.match(help, /^Usage: bosh-kubernetes stemcell build /mu);
  assert.match(help, /[^\n]\n$/u, 'the prompt is on a line of its own');
  assert.equal(await run('help', 'stemcell', 'build'), help);
  assert.match(await run('create-env', 'no-manifest.yml', '-h'), /^Usage: bosh-kubernetes create-env /mu);
  for (const word of ['version', '--version']) assert.equal(await run(word), `${product.version}\n`);
  const list = await run('help');
  assert.equal(list, usage(commands));
  for (const { name, isHidden } of commands)
    assert.equal(new RegExp(`^ {2}${name} `, 'mu').test(list), isHidden !== true, name);
});

test('the error for an unknown command, sub-command or flag names a known one, and that for a flag without its value an example', async () => {
  for (const [args, stderr] of [
    [
      ['upp'],
      /^bosh-kubernetes: there is no command 'upp'; the most similar is 'up'; bosh-kubernetes help lists all\n$/u,
    ],
    [['help', 'stpo'], /^bosh-kubernetes: there is no command 'stpo'; the most similar is 'stop';/u],
    [['xyzzy'], /^bosh-kubernetes: there is no command 'xyzzy'; bosh-kubernetes help lists all\n$/u],
    [['vms'], / no command 'vms'; 'status' shows VMs and disks; bosh-kubernetes help lists all\n$/u],
    [['deploy'], / no command 'deploy'; 'up' and 'create-env' deploy a manifest; /u],
    [
      ['completion', 'tcsh'],
      /^'completion' needs one of bash, zsh, fish; bosh-kubernetes completion --help /u,
    ],
    [['up', '-v'], /^'-v' needs a value, as in -v NAME=VALUE\. Usage: /u],
    [['create-env', 'a', '--state'], /^'--state' needs a value, as in --state FILE\. Usage: /u],
    [['stemcell', 'bild'], /; the most similar is 'build'; bosh-kubernetes stemcell --help explains them/u],
    [['create-env', 'a', '--recrete'], /^Unknown option '--recrete'; the most similar is '--recreate'\. /u],
  ] as const)
    await assert.rejects(promisify(execFile)(process.execPath, [main, ...args]), (error) => {
      const { code, stdout, stderr: text } = error as Record<'code' | 'stdout' | 'stderr', string>;
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(text, stderr);
      return true;
    });
});
