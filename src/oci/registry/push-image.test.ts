import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getManifest } from './manifests.ts';
import { pushImage } from './push-image.ts';
import { answer, refuse } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';
import { assertWhole, layer, chunkOptions, small, subject, faults } from './testing/push-subject.ts';

test('blobs are pushed in chunks and whole, and the manifest last, and a second push sends no blob', async (t) => {
  const at = await subject(t);
  const image = memoryImage([layer, small, layer]);
  const first: string[] = [];
  const digest = await pushImage(at.client, image, {
    ...chunkOptions,
    onBlob: (_, how) => first.push(how),
  });
  assert.equal(digest, image.descriptor.digest);
  assertWhole(at, image);
  assert.deepEqual(first, ['uploaded', 'uploaded', 'uploaded']);
  const methods = at.registry.log.map((line) => line.split(' ')[0]);
  assert.equal(methods.filter((method) => method === 'PATCH').length, 7);
  assert.match(at.registry.log.at(-1) ?? '', /^PUT .*manifests/u);
  assert.deepEqual(await getManifest(at.client, digest), image.manifest);

  const again: string[] = [];
  await pushImage(at.client, image, { ...chunkOptions, tag: 'v1', onBlob: (_, how) => again.push(how) });
  assert.deepEqual(again, ['present', 'present', 'present']);
  assert.ok(at.registry.manifests.has('v1'));
});

test('a layer of another repository is mounted, or uploaded if that repository does not have it', async (t) => {
  const at = await subject(t);
  const image = memoryImage([layer]);
  await pushImage(at.client, image, chunkOptions);
  at.registry.owners.set(image.layers[0]?.digest ?? '', new Set(['other/one']));
  const how: string[] = [];
  await pushImage(at.client, image, {
    ...chunkOptions,
    mountFrom: ['other/none', 'other/one'],
    onBlob: (_, pushed) => how.push(pushed),
  });
  assert.deepEqual(how, ['mounted', 'present']);
  assert.equal(at.registry.uploads.size, 0);
});

test('a registry without chunked uploads gets the whole blob', async (t) => {
  const at = await subject(t);
  at.registry.acceptsChunks = false;
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  for (const digest of memoryImage([layer]).layers.map((blob) => blob.digest))
    assert.equal(at.registry.blobs.get(digest)?.length, layer.length);
});

test('a registry with a larger minimum chunk gets larger chunks, and one with a huge minimum the whole blob', async (t) => {
  for (const [minChunkLength, patches] of [
    [40_000, 3],
    [1024 ** 3, 0],
  ] as const) {
    const at = await subject(t);
    at.registry.minChunkLength = minChunkLength;
    await pushImage(at.client, memoryImage([layer]), chunkOptions);
    assertWhole(at);
    assert.equal(at.registry.log.filter((line) => line.startsWith('PATCH')).length, patches);
  }
});

for (const [how, chunkBytes] of [
  ['in chunks', 16_000],
  ['whole', 1_000_000],
] as const) {
  test(`damaged bytes ${how} publish nothing, and the upload is cancelled`, async (t) => {
    const at = await subject(t);
    const damaged = Buffer.from(layer).fill(7, 99_000);
    await assert.rejects(pushImage(at.client, memoryImage([layer], damaged), { chunkBytes }), {
      code: 'DIGEST_MISMATCH',
    });
    assert.equal(at.registry.blobs.size, 0);
    assert.equal(at.registry.manifests.size, 0);
    assert.equal(at.registry.uploads.size, 0);
  });
}

test('a failed cancellation or mount neither hides the error nor ends the push', async (t) => {
  const at = await subject(t);
  const refused: string[] = [];
  at.registry.trouble = (request, response) => {
    const url = request.url ?? '';
    if (request.method !== 'DELETE' && !url.includes('from=secret')) return undefined;
    refused.push(request.method ?? '');
    request.resume();
    refuse(response, 401, 'UNAUTHORIZED');
    return true;
  };
  const damaged = Buffer.from(layer).fill(7, 99_000);
  await assert.rejects(pushImage(at.client, memoryImage([layer], damaged), chunkOptions), {
    code: 'DIGEST_MISMATCH',
  });
  await pushImage(at.client, memoryImage([layer]), {
    ...chunkOptions,
    mountFrom: ['none', 'secret', 'none-2'],
  });
  assert.deepEqual(at.registry.blobs.get(memoryImage([layer]).layers[0]?.digest ?? ''), layer);
  assert.deepEqual(refused, ['DELETE', ...['POST', 'DELETE'], ...['POST', 'DELETE']]);
});

test('a registry that receives or stores other bytes is detected', async (t) => {
  const at = await subject(t);
  at.registry.trouble = (request, response) => {
    if (request.method !== 'PUT' || !(request.url ?? '').includes('manifests')) return undefined;
    request.resume();
    answer(response, 201, { 'docker-content-digest': `sha256:${'0'.repeat(64)}` });
    return true;
  };
  await assert.rejects(pushImage(at.client, memoryImage([small]), chunkOptions), { code: 'DIGEST_MISMATCH' });

  const changing = await subject(t);
  changing.registry.trouble = (request, response) => {
    if (request.method !== 'PUT') return undefined;
    request.resume();
    refuse(response, 400, 'DIGEST_INVALID');
    return true;
  };
  await assert.rejects(pushImage(changing.client, memoryImage([small]), chunkOptions), {
    code: 'DIGEST_MISMATCH',
    message: /it received other bytes than those/u,
  });
});

test('errors contain no part of the query of a location', async (t) => {
  const at = await subject(t);
  faults(
    at,
    1,
    (line) => line.startsWith('PATCH'),
    (request, response) => {
      request.resume();
      refuse(response, 403, 'DENIED', 'no');
      return true;
    },
  );
  await assert.rejects(pushImage(at.client, memoryImage([layer]), chunkOptions), (error: Error) => {
    assert.doesNotMatch(error.message, /secret-state|state=/u);
    return true;
  });
});
