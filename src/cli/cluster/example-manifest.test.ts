import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { findExample, hasExample, writeExample } from './example-manifest.ts';

const root = join(import.meta.dirname, '..', '..', '..');

const options = { statePath: undefined, readListeners: async () => [] };

beforeEach(async (t) => {
  assert.ok('after' in t);
  process.chdir(await scratchDirectory(t));
});

test('the example is written once, with archives of the installation, and an edited manifest stays', async () => {
  assert.equal(await writeExample(root, options), true);
  const text = await readFile('hello/manifest.yml', 'utf8');
  assert.deepEqual(text.match(/file:.*/gu), [
    'file://((installation))/dist/bosh-kubernetes-release.tgz',
    'file://((installation))/dist/hello-release.tgz',
    'file://((installation))/dist/embedded-stemcell.tgz',
  ]);

  await writeFile('hello/manifest.yml', `${text}# edited\n`);
  assert.equal(await writeExample(root, options), false);
  assert.equal(await readFile('hello/manifest.yml', 'utf8'), `${text}# edited\n`);
});

test('the example has the first free address in all places, and its usual one if all are taken', async () => {
  const usual = '127.64.0.10';
  const places = (text: string, address: string): number => text.split(address).length - 1;
  const example = await readFile(join(root, 'examples/hello/manifest.yml'), 'utf8');
  const all = Array.from({ length: 256 }, (_, host) => `127.64.0.${host}:80` as const);
  for (const [listeners, expected] of [
    [[], usual],
    [['127.64.0.100:8080', '127.64.0.11:1', '*:8080'], usual],
    [['127.64.0.11:6868', '127.64.0.10:8080'], '127.64.0.12'],
    [all, usual],
  ] as const) {
    assert.equal(await writeExample(root, { ...options, readListeners: async () => listeners }), true);
    const text = await readFile('hello/manifest.yml', 'utf8');
    assert.equal(places(text, expected), places(example, usual), expected);
    assert.equal(text.includes(usual), expected === usual);
    await rm('hello', { recursive: true });
  }
});

test('the manifest is written again beside credentials and the draft of a killed run', async () => {
  await mkdir('hello');
  const kept = ['manifest-creds.yml', `manifest.yml.${'0'.repeat(16)}.new`];
  for (const name of kept) await writeFile(join('hello', name), '');
  assert.equal(await writeExample(root, options), true);
  assert.deepEqual((await readdir('hello')).toSorted(), ['manifest-creds.yml', 'manifest.yml']);
});

test('the example does not replace the lost manifest of a deployment', async () => {
  await mkdir('hello');
  for (const path of ['hello/manifest-state.json', 'hello/manifest-state.json.cluster', 'other.json']) {
    await writeFile(path, '{}');
    await assert.rejects(
      writeExample(root, { ...options, statePath: path === 'other.json' ? path : undefined }),
      {
        code: 'FILE_NOT_FOUND',
        message: /no manifest '\/.*\/hello\/manifest\.yml', .* nothing was changed\. Restore the manifest/,
      },
    );
    assert.equal(existsSync('hello/manifest.yml'), false);
    await rm(path);
  }
});

test('something else with the name of the example is refused and stays', async () => {
  const refused = { message: /\/hello' .*; nothing was changed\. .* run this command in another directory/ };
  await writeFile('hello', 'text');
  await assert.rejects(writeExample(root, options), refused);
  assert.equal(await readFile('hello', 'utf8'), 'text');
});

for (const [content, files, message] of [
  ['a program', { 'main.c': '' }, /has files that do not belong to the example/],
  [
    'a manifest for something else',
    { 'manifest.yml': 'applications: []\n' },
    /has a manifest\.yml without cloud_provider/,
  ],
  ['an empty manifest', { 'manifest.yml': '\n' }, /has a manifest\.yml that is empty; once it is removed/],
] as const)
  test(`a directory hello with ${content} is refused and stays`, async () => {
    await mkdir('hello');
    for (const [name, text] of Object.entries(files)) await writeFile(join('hello', name), text);
    await assert.rejects(writeExample(root, options), { code: 'INVALID_ARGUMENT', message });
    await assert.rejects(hasExample(), { code: 'INVALID_ARGUMENT', message });
    assert.notEqual(await findExample(), true);
    assert.deepEqual(await readdir('hello'), Object.keys(files));
  });

test('a manifest that another user can have written is refused', async () => {
  await writeExample(root, options);
  const refused = { message: /only yours: another user owns it or can write it/ };
  for (const [path, mode] of [
    ['hello', 0o777],
    ['hello/manifest.yml', 0o666],
  ] as const) {
    await chmod(path, mode);
    await assert.rejects(hasExample(), refused);
    await chmod(path, 0o755);
  }
  assert.equal(await hasExample(), true);
  await rename('hello', 'other');
  await symlink('other', 'hello');
  await assert.rejects(hasExample(), { message: /is not a directory/ });
});
