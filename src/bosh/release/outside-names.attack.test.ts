import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { digestOfFile } from '../digest.ts';
import { listEntries, packArchive } from '../archive/pack-archive.ts';
import { unpackArchive } from '../archive/unpack-archive.ts';
import { writeReleaseFixture } from '../testing/release-fixture.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { openRelease } from './open-release.ts';
import { createRelease } from './create-release.ts';
import { packRelease } from './pack-release.ts';

async function packed(t: TestContext): Promise<{ directory: string; release: string; unpacked: string }> {
  const directory = await scratchDirectory(t);
  const release = join(directory, 'release');
  await writeReleaseFixture(release);
  await packRelease({ directory: release, version: '1', outFile: join(directory, 'r.tgz') });
  const unpacked = join(directory, 'unpacked');
  await unpackArchive(join(directory, 'r.tgz'), unpacked);
  return { directory, release, unpacked };
}

test('unsafe names, versions or fingerprints in a release.MF open no file', async (t) => {
  const { directory, unpacked } = await packed(t);
  const text = await readFile(join(unpacked, 'release.MF'), 'utf8');
  const changes: readonly [RegExp, string][] = [
    [/^name: fixture/m, 'name: ../../victim'],
    [/^version: .*/m, 'version: ../1'],
    [/name: web/, 'name: .'],
    [/name: web/, 'name: ../web'],
    [/name: base/, 'name: ..'],
    [/fingerprint: .*/, 'fingerprint: a/../../b'],
    [/^ +- zlib/m, '  - ../zlib'],
  ];
  for (const [pattern, hostile] of changes) {
    assert.match(text, pattern);
    await writeFile(join(unpacked, 'release.MF'), text.replace(pattern, hostile));
    const archivePath = join(directory, 'hostile.tgz');
    await packArchive(await listEntries(unpacked, ''), archivePath);
    await assert.rejects(
      openRelease({ archivePath, directory: join(directory, 'opened'), within: directory }),
      { code: 'RELEASE_INVALID', message: /hostile\.tgz.*cannot be the name of one file/s },
      hostile,
    );
    assert.equal(existsSync(join(directory, 'opened', 'unpacked-jobs')), false, hostile);
  }
});

test('a path outside of the directory for unpacked releases is not emptied', async (t) => {
  const { directory } = await packed(t);
  const [victim, within] = [join(directory, 'victim'), join(directory, 'within')];
  for (const path of [victim, within]) await mkdir(path);
  await writeFile(join(victim, 'file'), '');
  const opening = openRelease({
    archivePath: join(directory, 'r.tgz'),
    directory: join(within, 'releases', '../../victim'),
    within,
  });
  await assert.rejects(opening, { code: 'PATH_OUTSIDE' });
  assert.deepEqual(await readdir(victim), ['file']);
});

test("a package's name in a release directory does not make the packer write elsewhere", async (t) => {
  const { directory, release } = await packed(t);
  await mkdir(join(directory, 'out', 'package-x'), { recursive: true });
  await rename(join(release, 'packages/zlib'), join(release, 'packages/last'));
  const spec = join(release, 'packages/last/spec');
  await writeFile(spec, (await readFile(spec, 'utf8')).replace('name: zlib', 'name: x/../../../stolen'));
  const outFile = join(directory, 'out', 'r.tgz');
  await assert.rejects(packRelease({ directory: release, version: '1', outFile }), {
    code: 'RELEASE_INVALID',
    message: /"x\/\.\.\/\.\.\/\.\.\/stolen" cannot be the name of one file/,
  });
  assert.equal(existsSync(join(directory, 'stolen.tgz')), false);
});

test('indices of a release directory do not make create-release read or write elsewhere', async (t) => {
  const { directory, release } = await packed(t);
  const blobstore = { provider: 'local', options: { blobstore_path: '../blobstore' } };
  await writeFile(join(release, 'config/final.yml'), JSON.stringify({ name: 'fixture', blobstore }));
  await rm(join(release, 'blobs'), { recursive: true });
  await writeFile(join(release, 'config/blobs.yml'), '--- {}\n');
  for (const name of ['base', 'zlib'])
    await writeFile(join(release, `packages/${name}/spec`), `name: ${name}\nfiles: [both/*]\n`);
  const ports = {
    cacheDirectory: join(directory, 'cache'),
    readGit: () => Promise.resolve({ commitHash: 'non-git', changes: '' }),
    newId: () => 'id',
    now: () => 0,
    notice: () => undefined,
  };
  const { parts } = await createRelease({ directory: release }, ports);
  const web = parts.find(({ name }) => name === 'web');
  const version = web?.fingerprint;
  await writeFile(join(directory, 'victim'), 'secret');
  const digest = await digestOfFile(join(directory, 'victim'));
  await rm(ports.cacheDirectory, { recursive: true });
  for (const [index, entry] of [
    ['.dev_builds', { version, sha1: '../victim' }],
    ['.final_builds', { version, sha1: digest, blobstore_id: '../victim' }],
  ] as const) {
    await rm(join(release, '.dev_builds'), { recursive: true, force: true });
    await mkdir(join(release, index, 'jobs/web'), { recursive: true });
    await writeFile(join(release, index, 'jobs/web/index.yml'), JSON.stringify({ builds: { x: entry } }));
    const making = createRelease({ directory: release, tarball: join(directory, 'stolen.tgz') }, ports);
    await assert.rejects(making, { code: 'RELEASE_INVALID', message: /"\.\.\/victim" cannot be the name of one file/ }, index);
    assert.equal(existsSync(join(directory, 'stolen.tgz')), false);
  }
  await rm(join(release, '.final_builds'), { recursive: true });
  await writeFile(join(release, 'config/final.yml'), 'name: ../../elsewhere\n');
  await assert.rejects(createRelease({ directory: release }, ports), { code: 'RELEASE_INVALID', message: /cannot be the name of one file/ });
});
