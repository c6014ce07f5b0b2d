import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { createGzip, gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { prependedBlocks, header, record, tarFrom } from '../../oci/testing/tar-blocks.ts';
import { renderJobs } from '../template/render-job.ts';
import { openRelease } from '../release/open-release.ts';
import { openStemcell } from '../stemcell/open-stemcell.ts';
import { createTemplateRenderer } from '../template/create-template-renderer.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { ByteBudget, archiveLimits, type ArchiveLimits } from './archive-limits.ts';
import { unpackArchive } from './unpack-archive.ts';

const mebibyte = 1024 * 1024;

/** Writes a tar.gz with one file of zeros; the archive has about a thousandth of its size. */
async function writeBomb(path: string, name: string, size: number): Promise<void> {
  function* bytes(): Generator<Buffer> {
    yield header(name, '0', size);
    for (let remaining = size; remaining > 0; remaining -= mebibyte) yield Buffer.alloc(mebibyte);
    yield Buffer.alloc(1024);
  }
  await pipeline(Readable.from(bytes()), createGzip(), createWriteStream(path));
}

async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true });
  const found = await Promise.all(entries.map((name) => stat(join(directory, name))));
  return found.reduce((sum, { size }) => sum + size, 0);
}

test('a release of 600 KB whose release.MF has 600 MB is refused before it fills the disk', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'bomb.tgz');
  await writeBomb(archivePath, 'release.MF', 600 * mebibyte);
  assert.ok((await stat(archivePath)).size < mebibyte);
  const out = join(directory, 'out');
  await assert.rejects(openRelease({ archivePath, directory: out, within: directory }), {
    code: 'ARCHIVE_INVALID',
    message: /bomb\.tgz.*'release\.MF' has 629145600 bytes/,
  });
  assert.ok((await bytesBelow(out)) < mebibyte);
});

/**
 * Writes a release whose jobs are links to one archive, which has these files and 20 links to the template
 * `x`.
 */
async function writeLinkedRelease(path: string, jobs: number, pad: number, template: number): Promise<void> {
  const names = Array.from({ length: 20 }, (_, index) => `x${index}`);
  const spec = `name: j\npackages: []\nproperties: {}\ntemplates:\n${names.map((one) => `  ${one}: ${one}\n`).join('')}`;
  const file = (name: string, body: string) => ({
    header: { name, size: body.length, type: 'file' as const },
    body,
  });
  const link = (name: string, linkname: string) => ({
    header: { name, size: 0, type: 'link' as const, linkname },
  });
  const job = gzipSync(
    await packTar([
      file('job.MF', spec),
      file('monit', ''),
      file('templates/x', 'a'.repeat(template)),
      file('pad', '0'.repeat(pad)),
      ...names.map((one) => link(`templates/${one}`, 'templates/x')),
    ]),
  );
  const sha = `sha256:${createHash('sha256').update(job).digest('hex')}`;
  const parts = Array.from(
    { length: jobs },
    (_, at) => `- {name: j${at}, version: v, fingerprint: f, sha1: "${sha}"}\n`,
  );
  const archive = await packTar([
    file('release.MF', `name: r\nversion: "1"\npackages: []\njobs:\n${parts.join('')}`),
    { header: { name: 'jobs/j0.tgz', size: job.length, type: 'file' }, body: job },
    ...parts.slice(1).map((_, at) => link(`jobs/j${at + 1}.tgz`, 'jobs/j0.tgz')),
  ]);
  await writeFile(path, gzipSync(archive));
}

test('jobs of a release that link to one archive count towards one limit', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'linked.tgz');
  await writeLinkedRelease(archivePath, 10, mebibyte, 1);
  const out = join(directory, 'out');
  const limits = { ...archiveLimits, jobs: 3 * mebibyte };
  await assert.rejects(openRelease({ archivePath, directory: out, within: directory, limits }), {
    code: 'ARCHIVE_INVALID',
    message: /linked\.tgz.*j2\.tgz' unpacks to more than 3145728 bytes/,
  });
  assert.ok((await bytesBelow(out)) < 4 * mebibyte);
});

test('the bytes, entries and names of all archives of a release count towards its limits', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'linked.tgz');
  await writeLinkedRelease(archivePath, 10, 0, 1);
  const attempts: readonly [Partial<ArchiveLimits>, RegExp][] = [
    [{ total: 5000 }, /linked\.tgz' unpacks to more than 5000 bytes/],
    [{ entries: 10 }, /its entry 'jobs\/j9\.tgz' exceeds the limit of 10 entries/],
    [{ names: 100 }, /its entry 'jobs\/j\d\.tgz' exceeds the limit of 100 characters/],
    // Each job has 24 entries, and those of several jobs are added up.
    [
      { entries: 60 },
      /j2\.tgz' was not unpacked: its entry 'templates\/x\d+' exceeds the limit of \d+ entries/,
    ],
    [{ names: 1000 }, /j\d\.tgz' was not unpacked: its entry '.*' exceeds the limit of 1000/],
    [{ manifest: 100 }, /'release\.MF' has \d+ bytes; a manifest has 100 at most/],
  ];
  for (const [limits, message] of attempts) {
    const options = { archivePath, directory: join(directory, 'out'), within: directory };
    await assert.rejects(openRelease({ ...options, limits: { ...archiveLimits, ...limits } }), {
      code: 'ARCHIVE_INVALID',
      message,
    });
  }
});

test('names with several thousand nested directories, and longer ones, are refused', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'deep.tar');
  const deep = (levels: number, end: string): string => `${'a/'.repeat(levels)}${end}`;
  for (const [key, type] of [
    ['path', '0'],
    ['linkpath', '2'],
  ] as const) {
    await writeFile(
      archivePath,
      tarFrom(prependedBlocks('x', record(key, deep(2048, 'bb'))), header('a', type, 0)),
    );
    await assert.rejects(unpackArchive(archivePath, join(directory, 'out')), {
      code: 'ARCHIVE_INVALID',
      message: /deep\.tar.*a name or a target longer than 4096 characters/,
    });
  }
});

test('templates that link to one file count towards one limit', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'linked.tgz');
  await writeLinkedRelease(archivePath, 1, 0, 4 * mebibyte - 1);
  const { jobs } = await openRelease({ archivePath, directory: join(directory, 'out'), within: directory });
  const rendering = renderJobs({
    jobs: jobs.map((job) => ({ job })),
    ...{
      deployment: 'd',
      globalProperties: {},
      groupProperties: {},
      id: 'i',
      directory: join(directory, 'r'),
    },
    renderer: { ...createTemplateRenderer(), render: () => Promise.reject(new Error('was rendered')) },
  });
  await assert.rejects(rendering, {
    code: 'TEMPLATE_INVALID',
    message: /'j0\/templates\/x16': all templates together have more than 67108864 bytes/,
  });
});

test('a stemcell whose stemcell.MF has 64 MB is refused', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'bomb.tgz');
  await writeBomb(archivePath, 'stemcell.MF', 64 * mebibyte);
  await assert.rejects(openStemcell({ archivePath, directory: join(directory, 'out'), within: directory }), {
    code: 'ARCHIVE_INVALID',
  });
});

test('the unpacked bytes, the entries and the names of an archive are limited', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'many.tgz');
  const file = (name: string, body: string) => ({
    header: { name, size: body.length, type: 'file' as const },
    body,
  });
  const files = Array.from({ length: 20 }, (_, index) => file(`file-${index}`, 'x'.repeat(4096)));
  await writeFile(archivePath, gzipSync(await packTar(files)));
  const attempts: readonly [Partial<ArchiveLimits>, RegExp][] = [
    [{ total: 40_000 }, /unpacks to more than 40000 bytes/],
    [{ entries: 10 }, /'file-10' exceeds the limit of 10 entries/],
    [{ names: 50 }, /exceeds the limit of 50 characters/],
  ];
  for (const [limits, message] of attempts)
    await assert.rejects(
      unpackArchive(archivePath, join(directory, 'out'), {
        budget: new ByteBudget({ ...archiveLimits, ...limits }),
      }),
      { code: 'ARCHIVE_INVALID', message },
    );
  await unpackArchive(archivePath, join(directory, 'out'));
});

test('an archive in another compression is named, with the command that repacks it', async (t) => {
  const directory = await scratchDirectory(t);
  for (const [start, name, end] of [
    ['28b52ffd04000100', 'zstd', 'zst'],
    ['fd377a585a000004', 'xz', 'xz'],
    ['425a683931415926', 'bzip2', 'bz2'],
  ] as const) {
    const archivePath = join(directory, `a.tar.${end}`);
    await writeFile(archivePath, Buffer.from(start, 'hex'));
    const command = `compressed with ${name}, .*: ${name} -dc \\S*/a\\.tar\\.${end} \\| gzip > \\S*/a\\.tar\\.gz$`;
    await assert.rejects(unpackArchive(archivePath, join(directory, 'out')), {
      code: 'ARCHIVE_INVALID',
      message: new RegExp(command, 'u'),
    });
  }
});

test('a NUL in a pax name is an error that names archive and entry', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'nul.tar');
  for (const [key, type] of [
    ['path', '0'],
    ['linkpath', '2'],
  ] as const) {
    const tar = tarFrom(prependedBlocks('x', record(key, 'a\0b')), header('a', type, 0));
    await writeFile(archivePath, tar);
    await assert.rejects(unpackArchive(archivePath, join(directory, 'out')), {
      code: 'ARCHIVE_INVALID',
      message: /nul\.tar.*NUL/,
    });
  }
});

test('an archive that is exchanged after its verification is refused', async (t) => {
  const directory = await scratchDirectory(t);
  const [archivePath, other] = [join(directory, 'a.tgz'), join(directory, 'b.tgz')];
  const manifest = (name: string) => `name: ${name}\nversion: 1\njobs: []\npackages: []\n`;
  for (const [path, name] of [
    [archivePath, 'good'],
    [other, 'evil'],
  ] as const) {
    const body = manifest(name);
    const tar = await packTar([{ header: { name: 'release.MF', size: body.length, type: 'file' }, body }]);
    await writeFile(path, gzipSync(tar));
  }
  const digest = await digestOf(archivePath);
  const open = () =>
    openRelease({ archivePath, digest, directory: join(directory, 'out'), within: directory });
  assert.equal((await open()).name, 'good');
  await rename(other, archivePath);
  await assert.rejects(open, { code: 'DIGEST_MISMATCH', message: /a\.tgz/ });
});

async function digestOf(path: string): Promise<string> {
  return `sha256:${createHash('sha256')
    .update(await readFile(path))
    .digest('hex')}`;
}

test('bytes after the end of an archive belong to its digest', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'a.tgz');
  await writeFile(archivePath, gzipSync(await packTar([])));
  const digest = await digestOf(archivePath);
  await mkdir(join(directory, 'out'));
  await writeFile(archivePath, Buffer.alloc(mebibyte), { flag: 'a' });
  await assert.rejects(unpackArchive(archivePath, join(directory, 'out'), { digest }), {
    code: 'DIGEST_MISMATCH',
  });
});
