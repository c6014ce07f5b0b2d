import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { unpackArchive } from '../src/bosh/archive/unpack-archive.ts';
import { packagesOf } from './bundle-for-node.ts';
import { noticeOf, packagesAmong, runtimes, writeNotices } from './write-notices.ts';

const root = join(import.meta.dirname, '..');

async function scratch(t: { after: (done: () => Promise<void>) => void }): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-notices-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('each package of a bundle is listed once, and each of two versions with its path', () => {
  const inputs = [
    'src/a.ts',
    'node_modules/ws/lib/x.js',
    'node_modules/ws/y.js',
    'node_modules/a/node_modules/@b/c/d.js',
    '../x/node_modules/@b/c/d.js',
  ];
  assert.deepEqual(packagesAmong(inputs), ['@b/c', 'a/node_modules/@b/c', 'ws']);
});

test('a licence comes from its file, the readme or the committed texts, and a package without any fails the build', async (t) => {
  const directory = await scratch(t);
  const bun = process.arch === 'x64' ? [runtimes.bun] : [];
  await writeNotices(directory, ['ws', 'pgpass', 'abstract-logging', runtimes.node, ...bun, 'ws']);
  const notice = await readFile(join(directory, 'NOTICE'), 'utf8');
  for (const text of [
    /^ws 8\.\d+\.\d+ \(MIT\)\n\nCopyright \(c\) 2011 Einar Otto Stangvik/mu,
    /Copyright \(c\) 2013-2016 Hannes Hörl/u,
    /James Sumners/u,
    ...bun.map(() => /Bun statically links JavaScriptCore/u),
    /Node\.js is licensed for use as follows/u,
  ])
    assert.match(notice, text);
  assert.equal(notice.match(/^ws 8/gmu)?.length, 1);
  assert.match(await readFile(join(directory, 'LICENSE'), 'utf8'), /Apache License/u);
  await writeFile(join(directory, 'package.json'), '{"version": "1", "license": "MIT"}');
  await rm(join(directory, 'LICENSE'));
  await rm(join(directory, 'NOTICE'));
  await writeFile(join(directory, 'README.md'), '# x\n## License\nMIT\n');
  await assert.rejects(
    noticeOf(directory, '@some/one'),
    /@some\/one brings no licence file; .*release\/notices\/@some\+one\.md/u,
  );
});

test('a committed text of another version fails the build', async (t) => {
  const directory = await scratch(t);
  await writeFile(join(directory, 'package.json'), '{"version": "2.0.2", "license": "MIT"}');
  await assert.rejects(
    noticeOf(directory, 'abstract-logging'),
    /abstract-logging\.md does not say that it is of abstract-logging 2\.0\.2: compare/u,
  );
});

test('the packages of a program that another bundler compiles are those that it imports', async () => {
  const packages = await packagesOf(join(root, 'src/agent/main.ts'));
  assert.ok(packages.includes('modern-tar') && !packages.includes('fastify'), packages.join(', '));
});

test("the CPI's release has the licence and the notices of its contents", async (t) => {
  const directory = await scratch(t);
  await unpackArchive(join(root, 'dist/bosh-kubernetes-release.tgz'), directory);
  await unpackArchive(join(directory, 'license.tgz'), join(directory, 'license'));
  assert.equal(
    await readFile(join(directory, 'license/LICENSE'), 'utf8'),
    await readFile(join(root, 'LICENSE'), 'utf8'),
  );
  const notice = await readFile(join(directory, 'license/NOTICE'), 'utf8');
  for (const name of ['ws', 'yaml', 'js-yaml']) assert.match(notice, new RegExp(`^${name} \\d`, 'mu'));
  if (process.arch === 'x64') assert.match(notice, /^@oven\/bun-linux-x64 \d/mu);
});
