import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { cp, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { addImage } from '../oci/layout/add-image.ts';
import { writeLayout } from '../oci/layout/write-layout.ts';
import { mediaTypes } from '../oci/image-source.ts';
import { convertStemcell } from './convert-stemcell.ts';
import { sampleBoshRoot, lookAlikeStemcell } from './testing/look-alike.ts';
import { digestOf, workshop } from './testing/workshop.ts';

test('a source that is not a regular file is refused, because it cannot be read twice', async (t) => {
  const { directory, convert } = await workshop(t);
  const fifo = join(directory, 'fifo');
  await promisify(execFile)('mkfifo', [fifo]);
  for (const source of [fifo, '/dev/null'])
    await assert.rejects(convert(source, { operatingSystem: 'x' }), {
      code: 'INVALID_ARGUMENT',
      message: /^'.*' must be a regular file, .* save it as a file first/,
    });
});

test('a stemcell that is changed, truncated or for machines is refused, and leaves no files', async (t) => {
  const { directory, fails } = await workshop(t);
  const image = gzipSync(await sampleBoshRoot());
  const wrong = await lookAlikeStemcell(directory, { digest: '0'.repeat(40) });
  await fails(wrong, { code: 'DIGEST_MISMATCH', message: /\.tgz': its image.*stemcell\.MF has 0{40}/ });
  const sha256 = digestOf(Buffer.from('other'));
  const weak = createHash('sha1').update(image).digest('hex');
  await fails(await lookAlikeStemcell(directory, { image, digest: `${weak};${sha256}` }), {
    code: 'DIGEST_MISMATCH',
    message: new RegExp(sha256),
  });
  await fails(await lookAlikeStemcell(directory, { order: ['image'] }), {
    code: 'STEMCELL_INVALID',
    message: /no stemcell\.MF/,
  });
  await fails(await lookAlikeStemcell(directory, { order: ['stemcell.MF'] }), {
    code: 'STEMCELL_INVALID',
    message: /no image/,
  });
  await fails(await lookAlikeStemcell(directory, { image: Buffer.alloc(0) }), {
    code: 'STEMCELL_INVALID',
    message: /light stemcell/,
  });
  await fails(await lookAlikeStemcell(directory, { manifest: 'name: [' }), {
    code: 'STEMCELL_INVALID',
    message: /stemcell\.MF/,
  });
  const disk = 'name: a\nversion: 1\nsha1: a\noperating_system: b\nstemcell_formats: [vsphere-ova]\n';
  await fails(await lookAlikeStemcell(directory, { manifest: disk }), {
    code: 'STEMCELL_INVALID',
    message: /vsphere-ova, not for containers/,
  });
  const cut = await lookAlikeStemcell(directory, { image: image.subarray(0, image.length - 20) });
  await fails(cut, { code: 'ARCHIVE_INVALID', message: /its image is damaged or truncated/ });
  const whole = await lookAlikeStemcell(directory);
  const { length } = await readFile(whole);
  for (const keptBytes of [length - 8, length - 40, Math.floor(length / 2), 30]) {
    await cp(whole, join(directory, 'cut.tgz'));
    await truncate(join(directory, 'cut.tgz'), keptBytes);
    await fails(join(directory, 'cut.tgz'), { code: 'ARCHIVE_INVALID', message: /cut\.tgz.*/ }, 'x');
  }
});

test('an entry that a root may not have is refused, and leaves no files', async (t) => {
  const { directory, fails } = await workshop(t);
  const image = gzipSync(
    await sampleBoshRoot({ header: { name: '../../etc/cron.d/x', size: 1 }, body: 'x' }),
  );
  await fails(await lookAlikeStemcell(directory, { image }), {
    code: 'ARCHIVE_INVALID',
    message: /entry '\.\.\/\.\.\/etc\/cron\.d\/x' lies outside/,
  });
  const empty = gzipSync(await packTar([{ header: { name: './etc/hosts', size: 0 } }]));
  await fails(await lookAlikeStemcell(directory, { image: Buffer.from(empty) }), {
    code: 'STEMCELL_INVALID',
    message: /no program \/var\/vcap\/bosh\/bin\/bosh-agent and no program \/bin\/sh/,
  });
});

/** Writes a folder in OCI layout with an image of these tars; the bottom layer comes first. */
async function layoutOf(path: string, tars: readonly Uint8Array[], architecture = 'amd64'): Promise<string> {
  await writeLayout(path, async (blobs) => {
    const blobsOf = tars.map((tar) => blobs.add(mediaTypes.gzipLayer, [gzipSync(tar)]));
    const rootfs = { type: 'layers', diff_ids: tars.map(digestOf) };
    const config = { os: 'linux', architecture, config: {}, rootfs };
    const manifest = await addImage(blobs, { config, layers: await Promise.all(blobsOf) });
    return { manifest, reference: 'a.example/b:1', architecture };
  });
  return path;
}

test('a layout with an upper layer that removes the agent or the shell is refused', async (t) => {
  const { directory, convert, fails } = await workshop(t);
  const root = await sampleBoshRoot();
  const empty = (name: string) => packTar([{ header: { name, size: 0 } }]);
  const layout = async (upper: Uint8Array): Promise<string> =>
    layoutOf(join(directory, digestOf(upper).slice(7)), [root, upper]);
  const lacksAgent = { code: 'STEMCELL_INVALID', message: /it has no program \/var\/.*\/bosh-agent\./u };
  const lacksShell = { code: 'STEMCELL_INVALID', message: /it has no program \/bin\/sh\./u };
  await fails(await layout(await empty('var/vcap/bosh/bin/.wh.bosh-agent')), lacksAgent, 'x');
  await fails(await layout(await empty('usr/bin/.wh..wh..opq')), lacksShell, 'x');
  const entry = { name: 'var/vcap/bosh/bin/bosh-agent', type: 'directory', size: 0 } as const;
  await fails(await layout(await packTar([{ header: entry }])), lacksAgent, 'x');
  await convert(await layout(await empty('etc/.wh.hosts')), { operatingSystem: 'x' });
});

test('the named image of a layout with two is converted', async (t) => {
  const { directory, convert, fails } = await workshop(t);
  const root = await sampleBoshRoot();
  const [layout, other] = ['layout', 'other'].map((name) => join(directory, name)) as [string, string];
  await layoutOf(layout, [root]);
  await layoutOf(other, [root, await packTar([{ header: { name: 'etc/other', size: 0 } }])]);
  await cp(join(other, 'blobs'), join(layout, 'blobs'), { recursive: true });
  const entries = await Promise.all(
    [layout, other].map((path) => readFile(join(path, 'index.json'), 'utf8')),
  );
  const manifests = entries.map((text, index) => ({
    ...(JSON.parse(text) as { manifests: object[] }).manifests[0],
    annotations: { 'org.opencontainers.image.ref.name': `v${index + 1}` },
  }));
  await writeFile(join(layout, 'index.json'), JSON.stringify({ manifests }));
  await fails(
    layout,
    { code: 'IMAGE_INVALID', message: /v1 linux\/amd64, v2 linux\/amd64; choose one with --reference/ },
    'x',
  );
  const made = await convert(layout, { operatingSystem: 'x', reference: 'v2' });
  const { digest } = (await convert(other, { operatingSystem: 'x', output: 'again' })).manifest;
  assert.equal(made.manifest.digest, digest);
  const tar = join(directory, 'root.tar');
  await writeFile(tar, root);
  await assert.rejects(convert(tar, { operatingSystem: 'x', reference: 'v2', output: 'none' }), {
    code: 'INVALID_ARGUMENT',
    message: /is not a folder in OCI layout; --reference/,
  });
});

test('an image for an unsupported architecture is refused', async (t) => {
  const { directory, fails } = await workshop(t);
  const layout = await layoutOf(join(directory, 'layout'), [await sampleBoshRoot()], 's390x');
  const message = /has an image for linux\/s390x, but stemcells are for amd64 and arm64/u;
  await fails(layout, { code: 'IMAGE_INVALID', message }, 'x');
});

test('a layout whose only image has another architecture than the requested one is refused', async (t) => {
  const { directory, convert } = await workshop(t);
  const { layout } = await convert(await lookAlikeStemcell(directory));
  const options = { architecture: 'arm64', operatingSystem: 'x' } as const;
  await assert.rejects(convert(layout, { ...options, isArchitectureRequired: true, output: 'other' }), {
    code: 'INVALID_ARGUMENT',
    message: /has one image, for amd64, but --architecture requests arm64$/u,
  });
  assert.ok(!(await readdir(directory)).includes('other'));
  // The default architecture of an arm64 machine was not given by the user.
  await convert(layout, { ...options, output: 'again' });
});

test("a root in xz or bzip2, and a stemcell's image in them, are named with the command that repacks them", async (t) => {
  const { directory, fails } = await workshop(t);
  for (const [start, name, end] of [
    ['fd377a585a000004', 'xz', 'xz'],
    ['425a683931415926', 'bzip2', 'bz2'],
  ] as const) {
    const packed = Buffer.concat([Buffer.from(start, 'hex'), randomBytes(2000)]);
    const path = join(directory, `root.tar.${end}`);
    await writeFile(path, packed);
    const command = (file: string): RegExp =>
      new RegExp(`with ${name}, .*: ${name} -dc \\S*${file} \\| gzip > `, 'u');
    await fails(path, { code: 'ARCHIVE_INVALID', message: command(`root\\.tar\\.${end}`) }, 'x');
    const heavy = await lookAlikeStemcell(directory, { image: packed });
    await fails(heavy, { code: 'ARCHIVE_INVALID', message: command('image') });
  }
});

/** Returns a tar of files with these names, in this order; the name of a folder ends with `/`. */
async function tarOf(...files: string[]): Promise<Uint8Array> {
  return packTar(
    files.map((name) => ({ header: { name, size: 0, type: name.endsWith('/') ? 'directory' : 'file' } })),
  );
}

test("a container image's tar is named, with the command that converts it to an OCI layout", async (t) => {
  const { directory, convert, fails } = await workshop(t);
  const path = join(directory, 'image.tar');
  const [id, blob] = ['a'.repeat(64), `blobs/sha256/${'b'.repeat(64)}`];
  const imageFiles = [`${id}/`, `${id}/VERSION`, `${id}/json`, `${id}/layer.tar`];
  const oci =
    /is the tar of a container image in OCI layout\. .*: mkdir layout && tar -xf \S*image\.tar -C layout; /u;
  const docker =
    /as docker save makes it\. .*: skopeo copy docker-archive:\S*image\.tar oci:layout:stemcell; /u;
  const cases: readonly [readonly string[], RegExp][] = [
    [['blobs/', 'blobs/sha256/', blob, 'index.json', 'oci-layout'], oci],
    [['blobs/', 'blobs/sha256/', blob, 'index.json', 'manifest.json', 'oci-layout', 'repositories'], oci],
    [['./', './oci-layout', './index.json', `./${blob}`], oci],
    [[...imageFiles, `${id}.json`, 'manifest.json', 'repositories'], docker],
    [[`${id}.tar`, `${'c'.repeat(64)}.json`, ...imageFiles, 'manifest.json'], docker],
  ];
  for (const [files, message] of cases)
    for (const pack of [(tar: Uint8Array) => tar, gzipSync, zstdCompressSync]) {
      await writeFile(path, pack(await tarOf(...files)));
      await fails(path, { code: 'INVALID_ARGUMENT', message }, 'x');
    }
  const root = await sampleBoshRoot();
  await writeFile(path, Buffer.concat([(await tarOf('manifest.json', 'blobs/')).subarray(0, 1024), root]));
  assert.equal(
    (await convert(path, { operatingSystem: 'x' })).name,
    'image',
    'a root with such names is one',
  );
});

test('a source that is not a stemcell, and an obstacle at the output, are named', async (t) => {
  const { directory, convert, fails } = await workshop(t);
  await fails(join(directory, 'none.tgz'), { code: 'FILE_NOT_FOUND', message: /none\.tgz/ });
  await fails(directory, { code: 'FILE_NOT_FOUND', message: /oci-layout/ });
  await writeFile(join(directory, 'text'), 'no tar at all'.repeat(100));
  await fails(join(directory, 'text'), {
    code: 'ARCHIVE_INVALID',
    message: /'.*text' is neither a stemcell/,
  });
  await writeFile(join(directory, 'empty'), '');
  await fails(join(directory, 'empty'), { code: 'ARCHIVE_INVALID', message: /empty/ });
  const source = await lookAlikeStemcell(directory);
  await convert(source);
  await fails(source, { code: 'FILE_EXISTS', message: /'.*out' already exists/ });
});

test('a conversion that is interrupted after its first megabyte leaves no files', async (t) => {
  const { directory, convert } = await workshop(t);
  const size = 64 * megabyte;
  const root = await sampleBoshRoot({ header: { name: './usr/large', size }, body: randomBytes(size) });
  const image = gzipSync(root, { level: 0 });
  const tar = join(directory, 'root.tar');
  await writeFile(tar, root);
  await writeFile(`${tar}.gz`, image);
  const heavy = await lookAlikeStemcell(directory, { image });
  const { layout } = await convert(heavy, { output: 'a' });
  const before = await readdir(directory);
  for (const source of [heavy, tar, `${tar}.gz`, layout]) {
    const interruption = new AbortController();
    const converting = convertStemcell({
      ...{ source, operatingSystem: 'ubuntu-noble', output: join(directory, 'b'), epoch: 0 },
      architecture: 'amd64',
      warn: () => undefined,
      signal: interruption.signal,
    });
    const rejected = assert.rejects(converting, /interrupted by SIGINT/, source);
    let written = 0;
    while (written < megabyte) written = await sizeBelow(join(directory, `.b.partial.${process.pid}`));
    assert.ok(written < size, `${source} was read before it could be interrupted`);
    interruption.abort(new Error('interrupted by SIGINT'));
    await rejected;
    assert.deepEqual(await readdir(directory), before, source);
  }
});

const megabyte = 1024 * 1024;

/** Returns the number of bytes in the files of a folder; 0 if it does not exist. */
async function sizeBelow(directory: string): Promise<number> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const stats = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name))));
    return stats.reduce((sum, { size }) => sum + size, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}
