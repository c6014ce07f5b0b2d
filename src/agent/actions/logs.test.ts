import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { extractArchive } from '../file/archive.ts';
import { isObject } from '../../platform/json.ts';
import { sha1 } from '../testing/archives.ts';
import { DavServer } from '../testing/dav-server.ts';
import { TestVm } from '../testing/test-vm.ts';

test('fetches the log files that match, and nothing outside the log directory', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await mkdir(join(vm.directories.log, 'web/deep'), { recursive: true });
  for (const name of ['web/a.log', 'web/deep/b.log', 'web/c.txt'])
    await writeFile(join(vm.directories.log, name), name);
  const value = await client.task('fetch_logs', 'job', ['**/*.log']);
  assert.ok(isObject(value));
  const blob = await client.send('GET', `/blobs/00/${String(value['blobstore_id'])}`);
  assert.equal(sha1(blob.body), value['sha1']);
  const target = join(vm.directories.base, 'fetched');
  await mkdir(target);
  await writeFile(`${target}.tgz`, blob.body);
  await extractArchive(`${target}.tgz`, target);
  assert.deepEqual((await readdir(target, { recursive: true })).toSorted(), [
    'web',
    'web/a.log',
    'web/deep',
    'web/deep/b.log',
  ]);
  await assert.rejects(
    client.task('fetch_logs', 'job', ['../../bosh/*']),
    /must be a glob relative to the log directory/,
  );
  await assert.rejects(client.task('fetch_logs', 'kernel', []), /the log type must be job, agent or system/);
});

test('the blobstore of an update is in use at once, and after a restart of the agent', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  let client = await vm.start();
  const fetchTo = async (dav: DavServer): Promise<void> => {
    const value = await client.task('fetch_logs', 'job', []);
    assert.ok(isObject(value));
    assert.equal(sha1(dav.find(String(value['blobstore_id'])) ?? Buffer.of()), value['sha1']);
  };
  for (let update = 1; update <= 2; update += 1) {
    const dav = await DavServer.start();
    t.after(() => dav.close());
    assert.equal(await client.task('update_settings', { blobstores: [dav.settings] }), 'ok');
    await fetchTo(dav);
    await vm.stop();
    client = await vm.start();
    await fetchTo(dav);
  }
});
