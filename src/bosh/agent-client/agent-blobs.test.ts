import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { startAgent } from './testing/fake-agent.ts';

test('blobs are stored at the paths of davcli and read back unchanged', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  const content = Buffer.alloc(3_000_000, 'blob');
  await writeFile(join(directory, 'in'), content);
  assert.equal(await agent.client().putBlob(join(directory, 'in')), 'blob-id');
  const shard = createHash('sha1').update('blob-id').digest('hex').slice(0, 2);
  assert.deepEqual([...agent.blobs.keys()], [`/blobs/${shard}/blob-id`]);
  await agent.client().getBlob('blob-id', join(directory, 'out'));
  assert.ok(content.equals(await readFile(join(directory, 'out'))));
  await assert.rejects(agent.client().getBlob('none', join(directory, 'x')), {
    code: 'AGENT_ERROR',
    message: /'none'.*404/,
  });
  assert.deepEqual((await readdir(directory)).toSorted(), ['in', 'out']);
});

test('an empty file is a valid blob', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  await writeFile(join(directory, 'in'), '');
  await agent.client().putBlob(join(directory, 'in'));
  assert.equal([...agent.blobs.values()][0]?.length, 0);
});

test('a failing upload is tried three times', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  await writeFile(join(directory, 'in'), Buffer.alloc(1_000_000));
  agent.blobStatus = 503;
  await assert.rejects(agent.client().putBlob(join(directory, 'in')), {
    code: 'AGENT_UNREACHABLE',
    message: /503/,
  });
  assert.deepEqual(agent.slept, [1000, 1000]);
  agent.blobStatus = 200;
  await assert.rejects(agent.client().putBlob(join(directory, 'in')), {
    code: 'AGENT_ERROR',
    message: /HTTP status 200/,
  });
  await assert.rejects(agent.client().putBlob(join(directory, 'none')), { code: 'FILE_NOT_FOUND' });
  await assert.rejects(agent.client({ credentials: 'a:b' }).putBlob(join(directory, 'in')), {
    code: 'AGENT_UNTRUSTED',
  });
});
