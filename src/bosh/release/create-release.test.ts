import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { boshCli, withoutBoshCli } from '../../../test/support/upstream-programs.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { digestOfFile } from '../digest.ts';
import { fixtureFingerprints, writeReleaseFixture } from '../testing/release-fixture.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createRelease, packReleaseManifest, type CreatedRelease, type CreateReleaseOptions, type CreateReleasePorts } from './create-release.ts';
import { readGitState } from './git-state.ts';
import { openRelease } from './open-release.ts';
import type { PackedPart } from './release-parts.ts';

const run = promisify(execFile);

interface ReleaseWorld {
  readonly scratch: string;
  readonly directory: string;
  readonly ports: CreateReleasePorts;
  readonly create: (options?: Partial<CreateReleaseOptions>) => Promise<CreatedRelease>;
}

/** Creates the fixture with an index of its blobs and a local blobstore. */
async function releaseWorld(t: TestContext): Promise<ReleaseWorld> {
  const scratch = await scratchDirectory(t);
  const directory = join(scratch, 'release');
  await writeReleaseFixture(directory);
  const blobs: Record<string, unknown> = {};
  for (const name of ['archives/one.tgz', 'archives/two.tar', 'both/file.txt'])
    blobs[name] = { size: 9, sha: await digestOfFile(join(directory, 'blobs', name)) };
  await writeFile(join(directory, 'config/blobs.yml'), stringify(blobs));
  const blobstore = { provider: 'local', options: { blobstore_path: '../blobstore' } };
  await writeFile(join(directory, 'config/final.yml'), stringify({ name: 'fixture', blobstore }));
  await mkdir(join(scratch, 'blobstore'));
  let ids = 0;
  const ports: CreateReleasePorts = {
    cacheDirectory: join(scratch, '.bosh/cache'),
    readGit: () => Promise.resolve({ commitHash: 'abc1234', changes: '' }),
    newId: () => `id-${(ids += 1)}`,
    now: () => 1700000000,
    notice: () => undefined,
  };
  return { scratch, directory, ports, create: (options = {}) => createRelease({ directory, ...options }, ports) };
}

const digests = ({ parts }: CreatedRelease): readonly string[] => parts.map(({ name, digest }) => `${name} ${digest}`);

async function yaml(path: string): Promise<unknown> {
  return parse(await readFile(path, 'utf8')) as unknown;
}

test('dev and final versions are counted, packed once and recorded at the paths of the bosh CLI', async (t) => {
  const { scratch, directory, create } = await releaseWorld(t);
  const tarball = join(scratch, '((name))-((version)).tgz');
  const first = await create({ tarball });
  assert.equal(first.archivePath, join(scratch, 'fixture-0+dev.1.tgz'));
  const found = first.parts.map(({ kind, name, fingerprint }) => [
    kind === 'license' ? name : `${kind} ${name}`,
    fingerprint,
  ]);
  assert.deepEqual(Object.fromEntries(found), fixtureFingerprints);
  const opened = await openRelease({ archivePath: first.archivePath, directory: join(scratch, 'out'), within: scratch });
  assert.equal(`${opened.name}/${opened.version}`, 'fixture/0+dev.1');
  assert.match(await readFile(join(scratch, 'out/release.MF'), 'utf8'), /^commit_hash: abc1234$/mu);

  const final = await create({ final: true });
  const versions = [final, await create(), await create({ timestampVersion: true }), await create({ final: true })];
  assert.deepEqual(versions.map(({ version }) => version), ['1', '1+dev.1', '1+dev.1700000000', '2']);
  for (const one of versions) assert.deepEqual(digests(one), digests(first), 'a part is packed once');
  const web = first.parts.find(({ name }) => name === 'web');
  const entry = { version: web?.fingerprint, sha1: web?.digest };
  assert.deepEqual(await yaml(join(directory, '.dev_builds/jobs/web/index.yml')), {
    builds: { [entry.version ?? '']: entry },
    'format-version': '2',
  });
  const { builds } = (await yaml(join(directory, '.final_builds/license/index.yml'))) as {
    builds: Record<string, { blobstore_id: string; sha1: string }>;
  };
  const [license] = Object.values(builds);
  assert.equal(await digestOfFile(join(scratch, 'blobstore', license?.blobstore_id ?? '')), license?.sha1);
  assert.deepEqual((await readdir(join(directory, 'releases/fixture'))).toSorted(), [
    'fixture-1.yml',
    'fixture-2.yml',
    'index.yml',
  ]);
  assert.match(await readFile(join(directory, 'dev_releases/fixture/index.yml'), 'utf8'), /version: 0\+dev\.1\n/u);
});

test('an existing version is packed again from its manifest, also in another checkout', async (t) => {
  const { scratch, directory, ports, create } = await releaseWorld(t);
  await create({ final: true, version: '4.2' as PathSegment });
  // As on another machine: there is no cache, only the blobstore, and the sources have changed.
  await rm(ports.cacheDirectory, { recursive: true });
  await writeFile(join(directory, 'src/app/main.sh'), 'changed\n');
  const manifestPath = join(directory, 'releases/fixture/fixture-4.2.yml');
  const again = await packReleaseManifest({ directory, manifestPath, tarball: join(scratch, 'again.tgz') }, ports);
  const opened = await openRelease({ archivePath: join(scratch, 'again.tgz'), directory: join(scratch, 'out'), within: scratch });
  const ofKind = (expectedKind: PackedPart['kind']): readonly string[] =>
    again.parts.filter(({ kind }) => kind === expectedKind).map(({ fingerprint }) => fingerprint);
  assert.deepEqual(opened.jobs.map(({ fingerprint }) => fingerprint), ofKind('job'));
  assert.deepEqual(opened.packages.map(({ fingerprint }) => fingerprint), ofKind('package'));
  await rm(join(scratch, 'blobstore'), { recursive: true });
  await rm(ports.cacheDirectory, { recursive: true });
  await assert.rejects(packReleaseManifest({ directory, manifestPath }, ports), {
    code: 'RELEASE_INVALID',
    message: /job 'empty\/.*neither in ~\/\.bosh\/cache nor in a local blobstore/u,
  });
});

test('an invalid release is refused before any write', async (t) => {
  const { scratch, directory, ports, create } = await releaseWorld(t);
  const written = (): boolean =>
    ['dev_releases', 'releases', '.dev_builds', '.final_builds'].some((name) => existsSync(join(directory, name)));
  const refused = async (options: Partial<CreateReleaseOptions>, code: string, message: RegExp): Promise<void> => {
    await assert.rejects(create(options), { code, message });
    assert.ok(!written() && !existsSync(ports.cacheDirectory), `${String(message)}: something was written`);
  };
  await refused({ tarball: join(scratch, 'none/x.tgz') }, 'FILE_NOT_FOUND', /The folder '.*none' for the archive .* does not exist/u);
  const spec = join(directory, 'packages/zlib/spec');
  const previous = await readFile(spec, 'utf8');
  await writeFile(spec, previous.replace('[base]', '[base, gone]'));
  await refused({}, 'RELEASE_INVALID', /zlib\/spec.*dependencies.*there is no package 'gone' in the release/u);
  await writeFile(spec, previous);
  await writeFile(join(directory, 'blobs/unknown'), '');
  await refused({}, 'RELEASE_INVALID', /'blobs\/unknown' is not in config\/blobs\.yml; move it to src/u);
  await rm(join(directory, 'blobs/unknown'));
  await rename(join(directory, 'blobs'), join(scratch, 'moved'));
  await mkdir(join(directory, 'blobs'));
  await symlink(join(scratch, 'moved/archives'), join(directory, 'blobs/archives'));
  await refused({}, 'RELEASE_INVALID', /'blobs\/archives' is a symbolic link/u);
  await rm(join(directory, 'blobs'), { recursive: true });
  await refused({}, 'RELEASE_INVALID', /archives\/one\.tgz: .* is missing or has another digest .* no object_id/u);
  await rename(join(scratch, 'moved'), join(directory, 'blobs'));
  await writeFile(join(scratch, 'moved-file'), '');
  for (const [blobstore, message] of [
    [undefined, /final\.yml' names none; give it blobstore: /u],
    ...['config/final.yml', 'config/final.yml/x', '../moved-file'].map(
      (path) =>
        [
          { provider: 'local', options: { blobstore_path: path } },
          /'.*(final\.yml|moved-file)' of the release's blobstore is not a folder; /u,
        ] as const,
    ),
    [{ provider: 's3' }, /names one of the provider 's3'.*run 'bosh create-release --final'/u],
  ] as const) {
    await writeFile(join(directory, 'config/final.yml'), stringify({ name: 'fixture', blobstore }));
    await refused({ final: true, force: true }, 'RELEASE_INVALID', message);
  }
  await create({ version: '7' as PathSegment });
  await assert.rejects(create({ version: '7' as PathSegment }), { code: 'RELEASE_EXISTS', message: /fixture-7\.yml --tarball/u });
});

test('blobs come from the local blobstore, with their digest verified and inside their directory', async (t) => {
  const { scratch, directory, create } = await releaseWorld(t);
  const blobs = join(directory, 'config/blobs.yml');
  const index = (await yaml(blobs)) as Record<string, Record<string, unknown>>;
  await cp(join(directory, 'blobs/archives/one.tgz'), join(scratch, 'blobstore/one-id'));
  await rm(join(directory, 'blobs/archives/one.tgz'));
  await writeFile(blobs, stringify({ ...index, 'archives/one.tgz': { ...index['archives/one.tgz'], object_id: 'one-id' } }));
  const { parts } = await create();
  assert.equal(parts.find(({ name }) => name === 'base')?.fingerprint, fixtureFingerprints['package base']);
  await rm(join(directory, 'blobs/archives/one.tgz'));
  await writeFile(join(scratch, 'blobstore/one-id'), 'another');
  await assert.rejects(create(), { code: 'RELEASE_INVALID', message: /blobs\.yml:\d+:\d+: archives\/one\.tgz: .*one-id' has the digest/u });
  const entry = { sha: await digestOfFile(join(scratch, 'blobstore/one-id')), object_id: 'one-id' };
  await writeFile(blobs, stringify({ '../../outside': entry }));
  await assert.rejects(create(), { code: 'RELEASE_INVALID', message: /must be a path inside its folder/u });
  assert.ok(!existsSync(join(scratch, 'outside')));
});

test('a vendored package is the archive in the index', async (t) => {
  const { directory, create } = await releaseWorld(t);
  const before = await create({ final: true });
  const base = before.parts.find(({ name }) => name === 'base');
  await rm(join(directory, 'packages/base'), { recursive: true });
  await mkdir(join(directory, 'packages/base'));
  const lock = { name: 'base', fingerprint: base?.fingerprint };
  await writeFile(join(directory, 'packages/base/spec.lock'), stringify(lock));
  assert.deepEqual(digests(await create()), digests(before));
  await writeFile(join(directory, 'packages/base/spec.lock'), stringify({ ...lock, fingerprint: 'f'.repeat(64) }));
  await assert.rejects(create(), { code: 'RELEASE_INVALID', message: /Package 'base' is vendored .*bosh create-release/u });
});

test('a lost archive is packed again, and a final build never changes', async (t) => {
  const { scratch, directory, ports, create } = await releaseWorld(t);
  const first = await create({ final: true });
  await rm(ports.cacheDirectory, { recursive: true });
  await rm(join(scratch, 'blobstore'), { recursive: true });
  await mkdir(join(scratch, 'blobstore'));
  assert.deepEqual(digests(await create({ final: true })), digests(first));
  const path = join(directory, '.final_builds/packages/app/index.yml');
  const app = first.parts.find(({ name }) => name === 'app')?.digest ?? '';
  await writeFile(path, (await readFile(path, 'utf8')).replace(app, `sha256:${'0'.repeat(64)}`));
  await assert.rejects(create({ final: true }), { code: 'RELEASE_INVALID', message: /final build of package 'app\/.*Restore the blobstore's file/u });
});

test('changes outside of git are refused unless --force is given', async (t) => {
  const { directory, ports } = await releaseWorld(t);
  const real = { ...ports, readGit: readGitState };
  assert.equal((await createRelease({ directory }, real)).commitHash, 'non-git');
  const git = (...args: string[]): Promise<unknown> =>
    run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: directory });
  await git('init', '-q');
  await writeFile(join(directory, '.gitignore'), 'dev_releases\n.dev_builds\nblobs\n');
  await assert.rejects(createRelease({ directory }, real), { code: 'RELEASE_UNCOMMITTED', message: /--force:\n.*LICENSE/su });
  assert.equal((await createRelease({ directory, force: true }, real)).commitHash, 'empty');
  await git('add', '-A');
  await git('commit', '-q', '-m', 'x');
  const committed = await createRelease({ directory }, real);
  assert.match(committed.commitHash, /^[0-9a-f]{7,}$/u);
  assert.equal(committed.uncommittedChanges, false);
  await writeFile(join(directory, 'src/app/main.sh'), 'changed\n');
  assert.equal((await createRelease({ directory, force: true }, real)).uncommittedChanges, true);
});

test('the bosh CLI continues from a release made here, and the other way round', { skip: withoutBoshCli() }, async (t) => {
  const { scratch, directory, create } = await releaseWorld(t);
  const bosh = async (...args: string[]): Promise<readonly string[]> => {
    const env = { ...process.env, HOME: scratch };
    const { stdout } = await run(boshCli() ?? 'bosh', ['create-release', '--json', ...args], { cwd: directory, env });
    const { Tables } = JSON.parse(stdout) as { Tables: { Rows: Record<string, string>[] }[] };
    return Tables.slice(1).flatMap(({ Rows }) => Rows.map(({ job, package: name, digest }) => `${job ?? name} ${digest}`));
  };
  const ours = ({ parts }: CreatedRelease): readonly string[] =>
    parts.filter(({ kind }) => kind !== 'license').map(({ name, fingerprint, digest }) => `${name}/${fingerprint} ${digest}`);
  const first = await create();
  assert.deepEqual(await bosh(), ours(first));
  assert.deepEqual(await bosh('--final'), ours(first));
  const second = await create({ final: true });
  assert.equal(second.version, '2');
  assert.deepEqual(ours(second), ours(first));
  assert.deepEqual(await bosh('releases/fixture/fixture-2.yml'), ours(first));
});
