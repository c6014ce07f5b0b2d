import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteManifest, getManifest } from './manifests.ts';
import { pushImage } from './push-image.ts';
import { memoryImage } from './testing/memory-image.ts';
import { chunkOptions, small, subject } from './testing/push-subject.ts';

test('a manifest is deleted and then absent, and a registry without deletion is reported', async (t) => {
  const at = await subject(t);
  const digest = await pushImage(at.client, memoryImage([small]), chunkOptions);
  assert.equal(await deleteManifest(at.client, digest), 'deleted');
  assert.equal(await deleteManifest(at.client, digest), 'absent');
  assert.equal(await getManifest(at.client, digest), undefined);
  at.registry.deletes = false;
  assert.equal(await deleteManifest(at.client, digest), 'refused');
});

test('a manifest that does not match its digest is refused', async (t) => {
  const at = await subject(t);
  const digest = `sha256:${'1'.repeat(64)}`;
  at.registry.manifests.set(digest, Buffer.from('other'));
  await assert.rejects(getManifest(at.client, digest), { code: 'DIGEST_MISMATCH' });
});
