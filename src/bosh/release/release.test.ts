import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { packArchive } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest.ts';
import { fixtureFingerprints, writeReleaseFixture } from '../testing/release-fixture.ts';
import { withoutBoshCli, boshCli } from '../../../test/support/upstream-programs.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { parsePathSegment, type PathSegment } from '../../platform/path-segment.ts';
import { openRelease } from './open-release.ts';
import { packRelease, type PackedRelease } from './pack-release.ts';
import { dependenciesOf, packagesInOrder, type Release } from './release.ts';

async function packFixture(t: TestContext): Promise<{ directory: string; archive: string; packed: PackedRelease }> {
  const directory = await scratchDirectory(t);
  await writeReleaseFixture(join(directory, 'release'));
  const archive = join(directory, 'r.tgz');
  const packed = await packRelease({ directory: join(directory, 'release'), version: '1.2', outFile: archive });
  return { directory, archive, packed };
}

test('fingerprints are those of bosh create-release', async (t) => {
  const { packed, directory, archive } = await packFixture(t);
  const found = Object.fromEntries([
    ...packed.jobs.map(({ name, fingerprint }) => [`job ${name}`, fingerprint] as const),
    ...packed.packages.map(({ name, fingerprint }) => [`package ${name}`, fingerprint] as const),
  ]);
  const { license, ...others } = fixtureFingerprints;
  assert.deepEqual(found, others);
  await openRelease({ archivePath: archive, directory: join(directory, 'out'), within: directory });
  const manifest = await readFile(join(directory, 'out', 'release.MF'), 'utf8');
  assert.ok(manifest.includes(`license:\n  version: ${license}\n  fingerprint: ${license}\n`));
});

test('a packed release opens with jobs, packages and properties', async (t) => {
  const { directory, archive } = await packFixture(t);
  const release = await openRelease({ archivePath: archive, directory: join(directory, 'out'), within: directory });
  assert.equal(`${release.name}/${release.version}`, 'fixture/1.2');
  const web = release.jobs.find(({ name }) => name === 'web');
  assert.deepEqual(web?.spec, {
    name: 'web',
    templates: [
      { source: 'ctl.erb', destination: 'bin/ctl' },
      { source: 'config/app.json.erb', destination: 'config/app.json' },
      { source: 'shared', destination: 'bin/shared' },
    ],
    packages: ['app'],
    properties: { 'web.port': { default: 80 }, 'web.name': {} },
  });
  assert.match(await readFile(join(web.directory, 'templates/shared'), 'utf8'), /exec app/, 'links of jobs are followed');
  assert.deepEqual(packagesInOrder(release, web.packages).map(({ name }) => name), ['base', 'zlib', 'app']);
  assert.deepEqual(dependenciesOf(release, 'zlib').map(({ name }) => name), ['base']);
});

test('package archives contain the files that the patterns match', async (t) => {
  const { directory, archive } = await packFixture(t);
  const release = await openRelease({ archivePath: archive, directory: join(directory, 'out'), within: directory });
  const app = release.packages.find(({ name }) => name === 'app');
  const entries = await unpackTar(gunzipSync(await readFile(app?.archivePath ?? '')));
  // The list of the archive that bosh create-release made from the same directory.
  assert.deepEqual(entries.map(({ header }) => header.name), [
    './', './app/', './app/.hidden', './app/latest', './app/lib/', './app/lib/deep/', './app/lib/deep/er/',
    './app/lib/deep/er/util.sh', './app/linked', './app/main.sh', './both/', './both/file.txt', './packaging',
  ]);
  const both = entries.find(({ header }) => header.name === './both/file.txt');
  assert.equal(Buffer.from(both?.data ?? []).toString(), 'src wins over blobs\n');
});

test('the same directory gives the same bytes, at any time and with any umask', async (t) => {
  const first = await packFixture(t);
  const second = await packFixture(t);
  const old = new Date('2001-01-01');
  await utimes(join(second.directory, 'release/src/app/main.sh'), old, old);
  await chmod(join(second.directory, 'release/src/both/file.txt'), 0o600);
  await chmod(join(second.directory, 'release/src/app'), 0o700);
  await packRelease({
    directory: join(second.directory, 'release'),
    version: '1.2',
    outFile: join(second.directory, 'again.tgz'),
  });
  const digests = ['r.tgz', 'again.tgz'].map((name) => digestOfFile(join(second.directory, name)));
  assert.deepEqual(new Set(await Promise.all(digests)), new Set([await digestOfFile(join(first.directory, 'r.tgz'))]));
  assert.deepEqual((await readdir(second.directory)).toSorted(), ['again.tgz', 'r.tgz', 'release'], 'no staging left');
});

test('a change of content, mode or dependency changes the fingerprint', async (t) => {
  const { directory, packed } = await packFixture(t);
  const change: readonly (() => Promise<void>)[] = [
    () => writeFile(join(directory, 'release/src/app/main.sh'), 'other\n'),
    () => chmod(join(directory, 'release/src/app/lib/deep/er/util.sh'), 0o755),
    () => writeFile(join(directory, 'release/packages/app/spec'), '---\nname: app\ndependencies: [base]\nfiles: [app/**/*, both/*]\n'),
  ];
  const seen = new Set([packed.packages[0]?.fingerprint]);
  for (const apply of change) {
    await apply();
    const next = await packRelease({ directory: join(directory, 'release'), version: '1.2', outFile: join(directory, 'n.tgz') });
    seen.add(next.packages.find(({ name }) => name === 'app')?.fingerprint);
  }
  assert.equal(seen.size, 4);
});

test('a version may be computed from the fingerprints', async (t) => {
  const { directory, packed } = await packFixture(t);
  const version = (fingerprints: readonly string[]): string =>
    fingerprints.map((text) => text.slice(0, 8)).join('.');
  const made = await packRelease({ directory: join(directory, 'release'), version, outFile: join(directory, 'v.tgz') });
  const parts = [...packed.jobs, ...packed.packages].map(({ fingerprint }) => fingerprint);
  assert.equal(made.version.startsWith(version(parts)), true);
  const opened = await openRelease({ archivePath: join(directory, 'v.tgz'), directory: join(directory, 'opened'), within: directory });
  assert.equal(opened.version, made.version);
});

test('an invalid release directory is refused with all its errors', async (t) => {
  const { directory } = await packFixture(t);
  const release = join(directory, 'release');
  await writeFile(join(release, 'packages/base/spec'), '---\nname: base\nfiles:\n- nothing/**\n');
  await writeFile(join(release, 'packages/zlib/pre_packaging'), '');
  await writeFile(join(release, 'jobs/web/spec'), '---\nname: wob\ntemplates: {gone.erb: bin/gone, ctl.erb: ../out}\npackages: [none]\n');
  await writeFile(join(release, 'blobs/archives/one.tgz'), 'changed!\n');
  const packing = packRelease({ directory: release, version: '1', outFile: join(directory, 'x.tgz') });
  await assert.rejects(packing, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'RELEASE_INVALID');
    const parts = [
      "files[0]: no file in src or blobs matches 'nothing/**'",
      'pre_packaging is not supported',
      "name: must be 'web', the name of its folder",
      "there is no file '",
      'templates.ctl.erb: "../out" must be a path inside its folder',
      "there is no package 'none' in the release",
      "blobs/archives/one.tgz' has the digest",
    ];
    for (const part of parts) assert.ok(error.message.includes(part), `${part} in ${error.message}`);
    return true;
  });
});

interface Rebuilt {
  readonly manifest: string;
  readonly keep?: (name: string) => boolean;
}

/** Writes the archive again, with another release.MF or without some of its files. */
async function rebuild(from: string, to: string, { manifest, keep = () => true }: Rebuilt): Promise<void> {
  const entries = await unpackTar(gunzipSync(await readFile(from)));
  const kept = entries.filter(({ header }) => header.type === 'file' && keep(header.name));
  const files = kept.map(({ header, data }) => ({
    kind: 'content' as const,
    name: `./${header.name}`,
    mode: 0o600,
    content: header.name === 'release.MF' ? manifest : (data ?? ''),
  }));
  await packArchive(files, to);
}

test('the error for a damaged release names archive, file and digest', async (t) => {
  const { directory, archive, packed } = await packFixture(t);
  const out = join(directory, 'out');
  await openRelease({ archivePath: archive, directory: out, within: directory });
  const manifest = await readFile(join(out, 'release.MF'), 'utf8');
  const bad = join(directory, 'bad.tgz');
  const open = (): Promise<Release> => openRelease({ archivePath: bad, directory: out, within: directory });

  const digest = packed.packages.find(({ name }) => name === 'base')?.digest ?? '';
  // Another package of the fixture has the same bytes, and either may be verified first.
  const [before = '', after = ''] = manifest.split('- name: base\n');
  const wrong = `${before}- name: base\n${after.replace(digest, `sha256:${'0'.repeat(64)}`)}`;
  await rebuild(archive, bad, { manifest: wrong });
  await assert.rejects(open(), { code: 'DIGEST_MISMATCH', message: new RegExp(`bad\\.tgz.*packages/base\\.tgz.*${digest}.*0{64}`) });

  await rebuild(archive, bad, { manifest, keep: (name) => name !== 'jobs/web.tgz' });
  await assert.rejects(open(), { code: 'FILE_NOT_FOUND', message: /bad\.tgz.*jobs\/web\.tgz/ });

  await rebuild(archive, bad, { manifest, keep: (name) => name !== 'release.MF' });
  await assert.rejects(open(), { code: 'FILE_NOT_FOUND', message: /bad\.tgz.*release\.MF/ });

  await rebuild(archive, bad, { manifest: manifest.replace('- name: base', '- name: ../base') });
  await assert.rejects(open(), { code: 'RELEASE_INVALID', message: /"\.\.\/base" cannot be the name of one file/ });

  await rebuild(archive, bad, { manifest: manifest.replace('  - app\n', '  - nope\n') });
  await assert.rejects(open(), { code: 'RELEASE_INVALID', message: /job 'web' needs package 'nope'/ });

  await rebuild(archive, bad, { manifest });
  assert.equal((await open()).jobs.length, 2, 'entries prefixed with ./ and mode 0600 are fine');
});

test('a cycle of packages is reported', () => {
  const segment = (text: string): PathSegment => {
    const parsed = parsePathSegment(text);
    assert.ok(parsed !== undefined);
    return parsed;
  };
  const one = (name: string, dependency: string): Release['packages'][number] => ({
    name: segment(name),
    fingerprint: segment(name),
    digest: '',
    archivePath: '',
    dependencies: [segment(dependency)],
    compiled: false,
  });
  const packages = [one('a', 'b'), one('b', 'a')];
  const release = { name: segment('r'), version: segment('1'), jobs: [], packages };
  assert.throws(() => packagesInOrder(release, ['a']), { code: 'RELEASE_INVALID', message: /a -> b -> a/ });
});

test('the bosh CLI computes the same fingerprints', { skip: withoutBoshCli() }, async (t) => {
  const bosh = boshCli() ?? 'bosh';
  const { directory, packed } = await packFixture(t);
  const blobs = 'archives/one.tgz archives/two.tar both/file.txt'.split(' ');
  const index = await Promise.all(
    blobs.map(async (name) => {
      const path = join(directory, 'release/blobs', name);
      const { length } = await readFile(path);
      return `${name}:\n  size: ${length}\n  sha: ${await digestOfFile(path)}\n`;
    }),
  );
  await writeFile(join(directory, 'release/config/blobs.yml'), index.join(''));
  const tarball = join(directory, 'up.tgz');
  const options = { cwd: join(directory, 'release'), env: { ...process.env, HOME: directory } };
  await promisify(execFile)(bosh, ['create-release', '--force', '--version', '1.2', '--tarball', tarball], options);
  const upstream = await openRelease({ archivePath: tarball, directory: join(directory, 'up'), within: directory });
  const byName = (parts: readonly { name: string; fingerprint: string }[]): readonly string[] =>
    parts.map(({ name, fingerprint }) => `${name}/${fingerprint}`).toSorted();
  assert.deepEqual(byName(packed.jobs), byName(upstream.jobs));
  assert.deepEqual(byName(packed.packages), byName(upstream.packages));
});
