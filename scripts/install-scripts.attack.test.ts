import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallCheckout } from './testing/small-checkout.ts';

const root = new URL('..', import.meta.url).pathname;
const npmIsMissing = spawnSync('npm', ['--version']).status !== 0 && 'needs npm';

test('`npm ci` by hand runs no script of a package', { skip: npmIsMissing }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'install-scripts-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const json = (path: string, value: object): void =>
    writeFileSync(join(directory, path), JSON.stringify(value));
  const evil = { name: 'evil', version: '1.0.0', scripts: { postinstall: 'touch was-run' } };
  mkdirSync(join(directory, 'evil'));
  json('evil/package.json', evil);
  json('package.json', { name: 'victim', version: '1.0.0', dependencies: { evil: 'file:./evil' } });
  const npm = (...args: string[]): void => {
    const { status, stderr } = spawnSync('npm', [...args, '--offline'], {
      cwd: directory,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  };
  npm('install', '--package-lock-only', '--ignore-scripts');
  copyFileSync(join(root, '.npmrc'), join(directory, '.npmrc'));
  npm('ci');
  assert.ok(existsSync(join(directory, 'node_modules', 'evil', 'package.json')));
  assert.equal(existsSync(join(directory, 'evil', 'was-run')), false);
});

test('our commands tell npm to run no script of a package, whatever its settings are', async (t) => {
  const checkout = await smallCheckout(t);
  await checkout.writeScript(
    join(checkout.directory, 'bin', 'npm'),
    '#!/bin/sh\necho "npm $*" >&2\nexit 1\n',
  );
  const { stderr } = await checkout.command(['up', 'x.yml']).ended;
  assert.match(stderr, /^npm ci --ignore-scripts /mu);
});

test('none of our commands is built from a script that npm then skips', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const names = Object.keys(scripts);
  const around = names.filter((name) =>
    names.some((other) => [`pre${other}`, `post${other}`].includes(name)),
  );
  assert.deepEqual(around, []);
});
