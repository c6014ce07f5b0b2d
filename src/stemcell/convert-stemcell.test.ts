import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';
import { openLayout } from '../oci/layout/open-layout.ts';
import type { PublishedStemcell } from './write-stemcell.ts';
import { lookAlikeStemcell, osReleaseEntries, sampleBoshRoot } from './testing/look-alike.ts';
import { digestOf, workshop } from './testing/workshop.ts';

test('a stemcell for containers becomes an image with the same bytes and a light stemcell that names it', async (t) => {
  const { directory, convert } = await workshop(t);
  const tar = await sampleBoshRoot();
  const archivePath = await lookAlikeStemcell(directory, { image: gzipSync(tar) });
  const made = await convert(archivePath);
  const image = await openLayout(made.layout);
  const [layer, ...others] = image.layers;
  assert.ok(layer);
  assert.deepEqual(others, []);
  assert.deepEqual(await buffer(image.open(layer)), gzipSync(tar));
  const config = JSON.parse((await buffer(image.open(image.config))).toString()) as {
    rootfs: object;
    config: { Entrypoint: string[] };
  };
  assert.deepEqual(config.rootfs, { type: 'layers', diff_ids: [digestOf(tar)] });
  assert.deepEqual(config.config.Entrypoint, ['/sbin/init']);
  const light = await openStemcell({
    archivePath: made.archive,
    directory: join(directory, 'light'),
    within: directory,
  });
  assert.deepEqual(
    [light.name, light.version, light.operatingSystem, light.formats],
    ['bosh-warden-boshlite-ubuntu-noble', '1.10', 'ubuntu-noble', ['docker-light']],
  );
  assert.deepEqual(light.cloudProperties, {
    image_reference: 'bosh-kubernetes.local/bosh-warden-boshlite-ubuntu-noble:1.10',
    digest: image.descriptor.digest,
    architecture: 'amd64',
  });
});

test('the manifest and the image may be in any order', async (t) => {
  const { directory, convert } = await workshop(t);
  const one = await convert(await lookAlikeStemcell(directory, { order: ['stemcell.MF', 'image'] }), {
    output: 'a',
  });
  const other = await convert(await lookAlikeStemcell(directory, { order: ['image', 'stemcell.MF'] }), {
    output: 'b',
  });
  assert.deepEqual(one.manifest, other.manifest);
});

test('a stemcell is recognised with any file first, compressed or not', async (t) => {
  const { directory, convert } = await workshop(t);
  const { manifest } = await convert(await lookAlikeStemcell(directory), { output: 'a' });
  const order = ['apply_spec.yml', 'packages.txt', 'stemcell.MF', 'image'] as const;
  const unusual = await convert(await lookAlikeStemcell(directory, { order }), { output: 'b' });
  const plain = await convert(await lookAlikeStemcell(directory, { order, isPlain: true }), { output: 'c' });
  assert.deepEqual([unusual.manifest, plain.manifest], [manifest, manifest]);
  assert.equal(plain.version, '1.10');
});

test("an archive with the root's files at its top is a root", async (t) => {
  const { directory, convert } = await workshop(t);
  const source = join(directory, 'root.tar');
  const files = ['.dockerenv', 'stemcell', 'notes'].map((name) => ({ header: { name, size: 0 } }));
  const first = (await packTar(files)).subarray(0, files.length * 512);
  await writeFile(source, Buffer.concat([first, await sampleBoshRoot()]));
  assert.equal((await convert(source, { operatingSystem: 'x' })).name, 'root');
});

test('a tar of the root gives the same root, compressed or not', async (t) => {
  const { directory, convert, fails } = await workshop(t);
  const tar = await sampleBoshRoot();
  const plain = join(directory, 'My Root.tar');
  const packed = join(directory, 'root.tar.gz');
  await writeFile(plain, tar);
  await writeFile(packed, gzipSync(tar));
  await fails(plain, { code: 'INVALID_ARGUMENT', message: /--operating-system/ });
  const options = { operatingSystem: 'ubuntu-noble' };
  const first = await convert(plain, { ...options, output: 'a' });
  const second = await convert(packed, { ...options, output: 'b', image: 'registry.example/own:1' });
  assert.equal(first.name, 'My Root');
  assert.match(first.image, /^bosh-kubernetes\.local\/my-root:1\.0\.0-[0-9a-f]{12}$/);
  assert.equal(second.image, 'registry.example/own:1');
  assert.equal(first.version, second.version);
  const [one, two] = [await openLayout(first.layout), await openLayout(second.layout)];
  assert.notDeepEqual(one.layers, two.layers);
  const foreign = await convert(plain, { ...options, output: 'c', architecture: 'arm64' });
  assert.deepEqual(await architectureIn(first), 'amd64');
  assert.deepEqual(await architectureIn(foreign), 'arm64');
  const again = await convert(foreign.layout, { output: 'd' });
  assert.deepEqual(await architectureIn(again), 'arm64', 'a layout says it itself');
});

test('a root, a stemcell and its image may be in zstd', async (t) => {
  const { directory, convert } = await workshop(t);
  const tar = await sampleBoshRoot();
  const zstdLayer = async ({ layout }: PublishedStemcell): Promise<Buffer> => {
    const image = await openLayout(layout);
    const [layer] = image.layers;
    assert.ok(layer);
    assert.equal(layer.mediaType, 'application/vnd.oci.image.layer.v1.tar+zstd');
    return buffer(image.open(layer));
  };
  // pzstd writes several frames; the first one is skippable.
  const packed = Buffer.concat([
    Buffer.from('502a4d180400000001000000', 'hex'),
    zstdCompressSync(tar.subarray(0, 100)),
    zstdCompressSync(tar.subarray(100)),
  ]);
  await writeFile(join(directory, 'noble.tar.zst'), packed);
  const root = await convert(join(directory, 'noble.tar.zst'), { operatingSystem: 'x', output: 'a' });
  assert.equal(root.name, 'noble');
  assert.deepEqual(await zstdLayer(root), packed);
  const inner = await convert(await lookAlikeStemcell(directory, { image: packed }), { output: 'b' });
  assert.deepEqual(await zstdLayer(inner), packed);
  const order = ['packages.txt', 'image', 'stemcell.MF'] as const;
  const plain = await lookAlikeStemcell(directory, { isPlain: true, order });
  const { manifest } = await convert(plain, { output: 'c' });
  await writeFile(join(directory, 'stemcell.tar.zst'), zstdCompressSync(await readFile(plain)));
  const outer = await convert(join(directory, 'stemcell.tar.zst'), { output: 'd' });
  assert.deepEqual(outer.manifest, manifest);
  const again = await convert(root.layout, { operatingSystem: 'x', output: 'e' });
  assert.deepEqual(again.manifest, root.manifest);
});

test('an image in OCI layout is unchanged and keeps its configuration', async (t) => {
  const { directory, convert, fails } = await workshop(t);
  const first = await convert(await lookAlikeStemcell(directory), { output: 'a' });
  const second = await convert(first.layout, { output: 'b' });
  assert.deepEqual(second.manifest, first.manifest);
  assert.deepEqual(
    [second.name, second.version, second.operatingSystem, second.image],
    [first.name, first.version, first.operatingSystem, first.image],
  );
  const [layer] = (await openLayout(first.layout)).layers;
  assert.ok(layer);
  const blob = join(first.layout, 'blobs', 'sha256', layer.digest.slice(7));
  await writeFile(blob, Buffer.alloc(layer.size));
  await fails(first.layout, { code: 'DIGEST_MISMATCH', message: new RegExp(layer.digest) });
});

test('an image is called by its own operating system only, also after a conversion', async (t) => {
  const { directory, convert, fails, warnings } = await workshop(t);
  const tar = join(directory, 'root.tar');
  const debian = await sampleBoshRoot(...osReleaseEntries('debian', 'bookworm'));
  await writeFile(tar, debian);
  const refused = (name: string, code = 'INVALID_ARGUMENT'): { code: string; message: RegExp } => ({
    code,
    message: new RegExp(
      `called '${name}', because os-release .* is debian-bookworm\\. .* --operating-system debian-bookworm`,
      'u',
    ),
  });
  for (const name of ['ubuntu-noble', 'debian-trixie', 'debian']) await fails(tar, refused(name), name);
  // The name in a stemcell.MF is checked, too.
  const heavy = await lookAlikeStemcell(directory, { image: gzipSync(debian) });
  await fails(heavy, refused('ubuntu-noble', 'STEMCELL_INVALID'));
  const made = await convert(heavy, { operatingSystem: 'debian-bookworm-fips', output: 'a' });
  assert.equal(made.operatingSystem, 'debian-bookworm-fips');
  await fails(made.layout, refused('ubuntu-noble'), 'ubuntu-noble');
  assert.equal((await convert(made.layout, { output: 'b' })).operatingSystem, 'debian-bookworm-fips');
  const noble = await sampleBoshRoot(...osReleaseEntries('ubuntu', 'noble'));
  await convert(await lookAlikeStemcell(directory, { image: gzipSync(noble) }), { output: 'c' });
  assert.deepEqual(warnings, []);
});

test('a warning says that the operating system of an image without os-release is not known', async (t) => {
  const { directory, convert, warnings } = await workshop(t);
  const made = await convert(await lookAlikeStemcell(directory), { output: 'a' });
  await convert(made.layout, { output: 'b' });
  assert.equal(warnings.length, 2);
  for (const warning of warnings)
    assert.match(warning, /no file os-release .* whether it is 'ubuntu-noble'/u);
});

async function architectureIn({ layout }: PublishedStemcell): Promise<unknown> {
  const image = await openLayout(layout);
  return (JSON.parse((await buffer(image.open(image.config))).toString()) as { architecture: unknown })
    .architecture;
}
