import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { type Descriptor, type ImageSource, mediaTypes } from '../image-source.ts';
import { addImage } from './add-image.ts';
import { layoutReference } from './layout-reference.ts';
import { openLayout } from './open-layout.ts';
import { writeLayout } from './write-layout.ts';

const config = { os: 'linux', architecture: 'amd64', config: {}, rootfs: { type: 'layers', diff_ids: [] } };
const content = Buffer.alloc(700_000, 'layer');

async function write(directory: string): Promise<void> {
  await writeLayout(directory, async (blobs) => {
    const layers = [
      await blobs.add(mediaTypes.layer, [content.subarray(0, 5), content.subarray(5)]),
      await blobs.add(mediaTypes.layer, [Buffer.from('second')]),
    ];
    const manifest = await addImage(blobs, { config, layers });
    return { manifest, reference: 'a:1', architecture: 'amd64' };
  });
}

async function layout(t: TestContext): Promise<{ directory: string; image: ImageSource }> {
  const directory = join(await scratchDirectory(t), 'image');
  await write(directory);
  return { directory, image: await openLayout(directory) };
}

const blobPath = (directory: string, { digest }: Descriptor): string =>
  join(directory, 'blobs', 'sha256', digest.slice(7));

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

test('an image is read back as it was written', async (t) => {
  const { image } = await layout(t);
  assert.equal(image.descriptor.digest, digestOf(image.manifest));
  assert.deepEqual(
    image.layers.map(({ digest, size }) => ({ digest, size })),
    [
      { digest: digestOf(content), size: content.length },
      { digest: digestOf(Buffer.from('second')), size: 6 },
    ],
  );
  const [first] = image.layers;
  assert.ok(first);
  assert.deepEqual(await buffer(image.open(first)), content);
  assert.deepEqual(JSON.parse((await buffer(image.open(image.config))).toString()), config);
});

test('the same image gives the same bytes', async (t) => {
  const directory = await scratchDirectory(t);
  const read = async (name: string): Promise<[string, string][]> => {
    await write(join(directory, name));
    const entries = await readdir(join(directory, name), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return Promise.all(
      files
        .toSorted()
        .map(async (path): Promise<[string, string]> => [
          path.slice(join(directory, name).length),
          digestOf(await readFile(path)),
        ]),
    );
  };
  assert.deepEqual(await read('one'), await read('two'));
});

test('a failed write of an image leaves no files', async (t) => {
  const directory = await scratchDirectory(t);
  await assert.rejects(
    writeLayout(join(directory, 'image'), async (blobs) => {
      await blobs.add(mediaTypes.layer, [Buffer.from('written')]);
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('half');
        throw new Error('the source broke');
      }
      const manifest = await blobs.add(mediaTypes.layer, failing());
      return { manifest, reference: 'a', architecture: 'amd64' };
    }),
    /the source broke/,
  );
  assert.deepEqual(await readdir(directory), []);
});

test('a directory that is not empty is left alone', async (t) => {
  const directory = await scratchDirectory(t);
  await writeFile(join(directory, 'mine'), 'mine');
  await assert.rejects(write(directory), { code: 'FILE_EXISTS', message: new RegExp(directory) });
  assert.deepEqual(await readdir(directory), ['mine']);
});

test('damaged and missing blobs are named, before or during the read', async (t) => {
  const { directory, image } = await layout(t);
  const [first, second] = image.layers;
  assert.ok(first && second);
  await writeFile(blobPath(directory, first), Buffer.alloc(content.length, 'tampered'));
  const reopened = await openLayout(directory);
  await assert.rejects(buffer(reopened.open(first)), { code: 'DIGEST_MISMATCH', message: /blobs.*digest/ });
  await truncate(blobPath(directory, first), 10);
  await assert.rejects(openLayout(directory), {
    code: 'IMAGE_INVALID',
    message: /10 bytes instead of the 700000/,
  });
  await assert.rejects(buffer(reopened.open(first)), { code: 'DIGEST_MISMATCH', message: /after 10 of/ });
  await rm(blobPath(directory, first));
  await assert.rejects(openLayout(directory), {
    code: 'FILE_NOT_FOUND',
    message: new RegExp(first.digest.slice(7)),
  });
  await writeFile(blobPath(directory, first), content);
  await writeFile(blobPath(directory, image.descriptor), Buffer.alloc(image.manifest.length, '{'));
  await assert.rejects(openLayout(directory), { code: 'DIGEST_MISMATCH' });
});

test('a directory without a valid layout is refused', async (t) => {
  const { directory } = await layout(t);
  const index = join(directory, 'index.json');
  const entry = { mediaType: mediaTypes.manifest, digest: `sha256:${'0'.repeat(64)}`, size: 3 };
  const cases: readonly [unknown, RegExp][] = [
    ['{', /index\.json is not JSON/],
    [[], /not a JSON object/],
    [{}, /no list 'manifests'/],
    [{ manifests: [] }, /0 images.*there are: none/],
    [{ manifests: [{ ...entry, digest: 'sha256:../../../etc/passwd' }] }, /no digest/],
    [{ manifests: [{ ...entry, size: -1 }] }, /no size/],
    [{ manifests: [{ ...entry, mediaType: 'text/plain' }] }, /text\/plain, which is not the manifest/],
    [
      { manifests: [entry, { ...entry, digest: `sha256:${'1'.repeat(64)}` }] },
      /2 images for linux\/amd64 instead of one; there are: unnamed, unnamed$/,
    ],
  ];
  for (const [value, message] of cases) {
    await writeFile(index, typeof value === 'string' ? value : JSON.stringify(value));
    await assert.rejects(openLayout(directory), { code: 'IMAGE_INVALID', message }, String(message));
  }
  await writeFile(join(directory, 'oci-layout'), '{"imageLayoutVersion":"2.0.0"}');
  await assert.rejects(openLayout(directory), { code: 'IMAGE_INVALID', message: /version 1\.0\.0/ });
  await rm(join(directory, 'oci-layout'));
  await assert.rejects(openLayout(directory), { code: 'FILE_NOT_FOUND', message: /oci-layout/ });
});

test('one of several images is chosen by platform', async (t) => {
  const { directory, image } = await layout(t);
  const named = (name: string, architecture: string): unknown => ({
    ...image.descriptor,
    ...(name === 'wanted' ? {} : { digest: `sha256:${'0'.repeat(64)}` }),
    platform: { os: 'linux', architecture },
    annotations: { 'org.opencontainers.image.ref.name': name },
  });
  const index = join(directory, 'index.json');
  await writeFile(index, JSON.stringify({ manifests: [named('other', 'arm64'), named('wanted', 'amd64')] }));
  assert.equal((await openLayout(directory)).descriptor.digest, image.descriptor.digest);
  await writeFile(index, JSON.stringify({ manifests: [named('other', 'amd64'), named('wanted', 'amd64')] }));
  await assert.rejects(openLayout(directory), {
    message: /2 images.*other linux\/amd64, wanted linux\/amd64; choose one with --reference NAME$/,
  });
  assert.equal(
    (await openLayout(directory, { reference: 'wanted' })).descriptor.digest,
    image.descriptor.digest,
  );
});

test('one of two images with tags is chosen by its name, and an image may have two names', async (t) => {
  const { directory, image } = await layout(t);
  const named = (annotations: object, digest = image.descriptor.digest): unknown => ({
    ...{ ...image.descriptor, digest },
    annotations,
  });
  const name = (text: string): object => ({ 'org.opencontainers.image.ref.name': text });
  const other = `sha256:${'0'.repeat(64)}`;
  const index = join(directory, 'index.json');
  await writeFile(index, JSON.stringify({ manifests: [named(name('v1'), other), named(name('v2'))] }));
  const choose =
    /index\.json has 2 images for linux\/amd64 instead of one; there are: v1, v2; choose one with --reference NAME$/;
  await assert.rejects(openLayout(directory), { code: 'IMAGE_INVALID', message: choose });
  const expected = {
    code: 'IMAGE_INVALID',
    message: /0 images for .* with the name 'v3'.*v1, v2; choose one/,
  };
  await assert.rejects(openLayout(directory, { reference: 'v3' }), expected);
  const opened = await openLayout(directory, { reference: 'v2' });
  assert.equal(opened.descriptor.digest, image.descriptor.digest);
  await assert.rejects(layoutReference(directory), { code: 'IMAGE_INVALID', message: /v1, v2.*--reference/ });
  assert.equal(await layoutReference(directory, 'v2'), 'v2');
  await writeFile(index, JSON.stringify({ manifests: [named(name('v2')), named(name('latest'))] }));
  assert.equal((await openLayout(directory)).descriptor.digest, image.descriptor.digest);
  // docker save writes the tag alone, and the whole name beside it.
  const docker = (text: string): object => ({
    ...name('1'),
    'io.containerd.image.name': `docker.io/${text}:1`,
  });
  await writeFile(index, JSON.stringify({ manifests: [named(docker('a'), other), named(docker('b'))] }));
  await assert.rejects(openLayout(directory, { reference: '1' }), {
    message: /2 images.*docker\.io\/a:1, docker\.io\/b:1;/,
  });
  const docked = await openLayout(directory, { reference: 'docker.io/b:1' });
  assert.equal(docked.descriptor.digest, image.descriptor.digest);
});
