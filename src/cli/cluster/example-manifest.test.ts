import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { findExample, hasExample, writeExample } from './example-manifest.ts';

const root = join(import.meta.dirname, '..', '..', '..');

beforeEach(async (t) => {
  assert.ok('after' in t);
  process.chdir(await scratchDirectory(t));
});

test('the example is written once, with archives of the installation, and an edited manifest stays', async () => {
  assert.equal(await writeExample(root), true);
  const text = await readFile('hello/manifest.yml', 'utf8');
  assert.deepEqual(text.match(/file:.*/gu), [
    'file://((installation))/dist/bosh-kubernetes-release.tgz',
    'file://((installation))/dist/hello-release.tgz',
    'file://((installation))/dist/embedded-stemcell.tgz',
  ]);

  await writeFile('hello/manifest.yml', `${text}# edited\n`);
  assert.equal(await writeExample(root), false);
  assert.equal(await readFile('hello/manifest.yml', 'utf8'), `${text}# edited\n`);
});

test('the manifest is written again beside credentials and the draft of a killed run', async () => {
  await mkdir('hello');
  const kept = ['manifest-creds.yml', `manifest.yml.${'0'.repeat(16)}.new`];
  for (const name of kept) await writeFile(join('hello', name), '');
  assert.equal(await writeExample(root), true);
  assert.deepEqual((await readdir('hello')).toSorted(), ['manifest-creds.yml', 'manifest.yml']);
});

test('the example does not replace the lost manifest of a deployment', async () => {
  await mkdir('hello');
  for (const path of ['hello/manifest-state.json', 'hello/manifest-state.json.cluster', 'other.json']) {
    await writeFile(path, '{}');
    await assert.rejects(writeExample(root, path === 'other.json' ? path : undefined), {
      code: 'FILE_NOT_FOUND',
      message: /no manifest '\/.*\/hello\/manifest\.yml', .* nothing was changed\. Restore the manifest/,
    });
    assert.equal(existsSync('hello/manifest.yml'), false);
    await rm(path);
  }
});

test('something else with the name of the example is refused and stays', async () => {
  const refused = { message: /\/hello' .*; nothing was changed\. .* run this command in another directory/ };
  await writeFile('hello', 'text');
  await assert.rejects(writeExample(root), refused);
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
    await assert.rejects(writeExample(root), { code: 'INVALID_ARGUMENT', message });
    await assert.rejects(hasExample(), { code: 'INVALID_ARGUMENT', message });
    assert.notEqual(await findExample(), true);
    assert.deepEqual(await readdir('hello'), Object.keys(files));
  });

test('a manifest that another user can have written is refused', async () => {
  await writeExample(root);
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
