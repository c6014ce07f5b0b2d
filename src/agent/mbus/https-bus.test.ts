import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestVm } from '../testing/test-vm.ts';

test('the bus rejects wrong credentials, invalid bodies, other paths and invalid blob ids', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const wrong = `Basic ${Buffer.from('mbus:wrong').toString('base64')}`;
  assert.equal((await client.send('POST', '/agent', '{"method":"ping"}', wrong)).status, 401);
  assert.equal((await client.send('PUT', '/blobs/1/x', 'data', '')).status, 401);
  assert.equal((await client.send('GET', '/agent')).status, 404);
  assert.equal((await client.send('POST', '/other')).status, 404);
  assert.equal((await client.send('POST', '/agent', 'no json')).status, 400);
  assert.equal((await client.send('POST', '/agent', '{"arguments":[]}')).status, 400);
  assert.equal((await client.send('GET', '/blobs/00/nothing')).status, 404);
  assert.equal((await client.send('DELETE', '/blobs/00/nothing')).status, 404);
  for (const id of ['..', '%2e%2e', '.partial-1', 'a%2fb', '%00', '%zz']) {
    assert.equal((await client.send('PUT', `/blobs/00/${id}`, 'data')).status, 400, id);
  }
  assert.equal((await client.send('PUT', '/blobs/00/mine', 'data')).status, 201);
  const read = await client.send('GET', '/blobs/ff/mine');
  assert.deepEqual([read.status, read.body.toString()], [200, 'data']);
  assert.equal((await stat(join(vm.directories.blobs, 'mine'))).mode & 0o777, 0o600);
  assert.deepEqual(await client.call('add_dynamic_disk'), {
    exception: { message: 'unknown message add_dynamic_disk' },
  });
  await assert.rejects(client.value('get_task', 'none'), /Task with id none could not be found/);
});
