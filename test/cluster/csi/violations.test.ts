import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { devicesOf } from './devices.ts';
import { driversAreMissing } from './testing/driver-process.ts';
import { startDrivers } from './testing/drivers-fixture.ts';
import { createVolume, stepsDown, stepsUp, take } from './testing/volume-calls.ts';

const skip = driversAreMissing() ?? false;

test(
  'a detach while a process still has the disk mounted is reported as a violation',
  { skip },
  async (t) => {
    const drivers = await startDrivers(t);
    const [one, two] = [await drivers.startNode('node-1'), await drivers.startNode('node-2')];
    const controller = drivers.controller();
    const store = await drivers.store();
    const { volumeId } = await createVolume(controller, 'pvc-1', 32);
    await take(stepsUp(one, volumeId), controller, one.client);
    const here = join(one.path(one.target(volumeId)), 'data');
    await writeFile(here, 'synced');
    await sync(here);
    // A separate mount namespace, like a container's, has a copy of every mount.
    const container = spawn('nsenter', [
      `--mount=/proc/${one.pid}/ns/mnt`,
      '--',
      'unshare',
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      'echo inside; exec sleep infinity',
    ]);
    t.after(() => container.kill('SIGKILL'));
    await once(container.stdout, 'data');
    const inside = `/proc/${String(container.pid)}/root${one.staging(volumeId)}/data`;
    await take(stepsDown(one, volumeId), controller, one.client);

    const [violation, second] = await store.violations(volumeId);
    assert.equal(second, undefined);
    assert.deepEqual([violation?.kind, violation?.nodeId], ['taken-while-held', 'node-1']);
    assert.ok(violation?.holders.includes(`pid ${String(container.pid)} at ${one.staging(volumeId)}`));
    await assert.rejects(
      (async () => {
        await appendFile(inside, ' lost');
        await sync(inside);
      })(),
      // Depends on what the kernel notices first: the missing device, or the file system that it has shut
      // down because of that.
      ({ code }: NodeJS.ErrnoException) => code === 'EIO' || code === 'EROFS',
    );

    await take(stepsUp(two, volumeId), controller, two.client);
    assert.equal(await readFile(join(two.path(two.target(volumeId)), 'data'), 'utf8'), 'synced');
    await take(stepsDown(two, volumeId), controller, two.client);
    assert.equal((await store.violations(volumeId)).length, 1);
    // The node that lost the volume stages it again.
    await take(stepsUp(one, volumeId), controller, one.client);
    assert.equal(await readFile(here, 'utf8'), 'synced');
    await take(stepsDown(one, volumeId), controller, one.client);
  },
);

test(
  'a thawed node unmounts a disk that is attached to another node by now, and does not change it',
  { skip },
  async (t) => {
    const drivers = await startDrivers(t);
    const [one, two] = [await drivers.startNode('node-1'), await drivers.startNode('node-2')];
    const controller = drivers.controller();
    const store = await drivers.store();
    const { volumeId } = await createVolume(controller, 'pvc-1', 32);
    await take(stepsUp(one, volumeId), controller, one.client);
    await controller.call('ControllerUnpublishVolume', { volumeId, nodeId: one.id });
    assert.equal((await store.violations(volumeId)).length, 1);
    await take(stepsUp(two, volumeId), controller, two.client);
    const data = join(two.path(two.target(volumeId)), 'data');
    await writeFile(data, 'two');
    await take(stepsDown(one, volumeId), controller, one.client);
    assert.equal((await devicesOf(store.image(volumeId))).length, 1);
    await sync(data);
    assert.equal(await readFile(data, 'utf8'), 'two');
    assert.doesNotMatch(await readFile(`/proc/${one.pid}/mountinfo`, 'utf8'), /pvc-1/);
    await take(stepsDown(two, volumeId), controller, two.client);
    assert.equal((await store.violations(volumeId)).length, 1);
  },
);

test(
  'a write to a volume that is attached to no node is reported at the next attach',
  { skip },
  async (t) => {
    const drivers = await startDrivers(t);
    const node = await drivers.startNode('node-1');
    const controller = drivers.controller();
    const store = await drivers.store();
    const { volumeId } = await createVolume(controller, 'pvc-1', 32);
    await take([...stepsUp(node, volumeId), ...stepsDown(node, volumeId)], controller, node.client);
    const { size } = await stat(store.image(volumeId));
    await writeFile(store.image(volumeId), Buffer.alloc(size));
    const [publish, stage] = stepsUp(node, volumeId);
    assert.ok(publish !== undefined && stage !== undefined);
    await controller.call(publish.method, publish.request);
    assert.deepEqual(
      (await store.violations(volumeId)).map(({ kind }) => kind),
      ['written-at-rest'],
    );
    // Nor is it treated as a new volume.
    await assert.rejects(node.client.call(stage.method, stage.request), { code: 'DATA_LOSS' });
  },
);

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
