import assert from 'node:assert/strict';
import { appendFile, readFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { devicesOf } from './devices.ts';
import { plainDriver, zonalDriver } from './drivers.ts';
import type { CsiSnapshot } from './messages.ts';
import { driversAreMissing } from './testing/driver-process.ts';
import { startDrivers, type DriversFixture, type NodeFixture } from './testing/drivers-fixture.ts';
import { createRequest, createVolume, mebibyte, stepsDown, stepsUp, take } from './testing/volume-calls.ts';

const skip = driversAreMissing() ?? false;

/** Mounts the volume while `action` runs. */
async function using(
  fixture: DriversFixture,
  node: NodeFixture,
  volumeId: string,
  action: (directory: string) => Promise<void>,
): Promise<void> {
  const controller = fixture.controller();
  await take(stepsUp(node, volumeId), controller, node.client);
  await action(node.path(node.target(volumeId)));
  await take(stepsDown(node, volumeId), controller, node.client);
}

test('a volume keeps its data when moved between nodes and is unmounted from both', { skip }, async (t) => {
  const drivers = await startDrivers(t);
  const [one, two] = [await drivers.startNode('node-1'), await drivers.startNode('node-2')];
  const controller = drivers.controller();
  const store = await drivers.store();
  const { volumeId, capacityBytes } = await createVolume(controller, 'pvc-1', 32);
  assert.equal(Number(capacityBytes), 32 * mebibyte);
  await using(drivers, one, volumeId, (directory) => writeFile(join(directory, 'data'), 'one'));
  assert.deepEqual(await devicesOf(store.image(volumeId)), []);
  await using(drivers, two, volumeId, (directory) => appendFile(join(directory, 'data'), ' two'));
  await using(drivers, one, volumeId, async (directory) => {
    assert.equal(await readFile(join(directory, 'data'), 'utf8'), 'one two');
  });
  assert.deepEqual(await store.violations(volumeId), []);
  await controller.call('DeleteVolume', { volumeId });
  await controller.call('DeleteVolume', { volumeId });
  assert.deepEqual(await store.volumes(), []);
  for (const node of [one, two]) {
    assert.doesNotMatch(await readFile(node.path('/proc/self/mountinfo'), 'utf8'), /pvc-1/);
  }
});

test('a volume is on one node at a time', { skip }, async (t) => {
  const drivers = await startDrivers(t);
  const [one, two] = [await drivers.startNode('node-1'), await drivers.startNode('node-2')];
  const controller = drivers.controller();
  const { volumeId } = await createVolume(controller, 'pvc-1', 16);
  await using(drivers, one, volumeId, async () => {
    const [publish, stage] = stepsUp(two, volumeId);
    assert.ok(publish !== undefined && stage !== undefined);
    await assert.rejects(controller.call(publish.method, publish.request), { code: 'FAILED_PRECONDITION' });
    await assert.rejects(two.client.call(stage.method, stage.request), { code: 'FAILED_PRECONDITION' });
    await assert.rejects(controller.call('DeleteVolume', { volumeId }), { code: 'FAILED_PRECONDITION' });
    // For the other node there is nothing to unpublish.
    await controller.call('ControllerUnpublishVolume', { volumeId, nodeId: two.id });
    await assert.rejects(controller.call(publish.method, publish.request), { code: 'FAILED_PRECONDITION' });
  });
});

test(
  'a volume grows while it is detached, and while it is mounted if the kernel permits it',
  { skip },
  async (t) => {
    const drivers = await startDrivers(t);
    const node = await drivers.startNode('node-1');
    const controller = drivers.controller();
    const store = await drivers.store();
    const { volumeId } = await createVolume(controller, 'pvc-1', 32);
    const grow = (mebibytes: number): Promise<{ capacityBytes: string; nodeExpansionRequired: boolean }> =>
      controller.call('ControllerExpandVolume', {
        volumeId,
        capacityRange: { requiredBytes: String(mebibytes * mebibyte) },
      });
    const size = async (directory: string): Promise<number> => {
      const { blocks, bsize } = await statfs(directory);
      return (blocks * bsize) / mebibyte;
    };
    const expandOnNode = async (): Promise<void> => {
      for (const _ of [1, 2]) {
        await node.client.call('NodeExpandVolume', { volumeId, volumePath: node.target(volumeId) });
      }
    };
    const { capabilities } = await drivers
      .identity()
      .call<{ capabilities: object[] }>('GetPluginCapabilities', {});
    const isOnline = JSON.stringify(capabilities).includes('ONLINE');
    await using(drivers, node, volumeId, async (directory) => {
      await writeFile(join(directory, 'data'), 'kept');
      const before = await size(directory);
      assert.ok(before < 32, `${before} MiB`);
      if (isOnline) {
        await grow(128);
        await expandOnNode();
        assert.ok((await size(directory)) > 100);
      } else {
        await assert.rejects(grow(128), { code: 'FAILED_PRECONDITION', message: /in use/ });
      }
    });
    const whole = { capacityBytes: String(256 * mebibyte), nodeExpansionRequired: true };
    assert.deepEqual([await grow(256), await grow(64)], [whole, whole]);
    await using(drivers, node, volumeId, async (directory) => {
      await expandOnNode();
      assert.ok((await size(directory)) > 200);
      assert.equal(await readFile(join(directory, 'data'), 'utf8'), 'kept');
    });
    assert.deepEqual(await store.violations(volumeId), []);
  },
);

test('a snapshot and a clone of a volume that is written to are consistent', { skip }, async (t) => {
  const drivers = await startDrivers(t);
  const node = await drivers.startNode('node-1');
  const controller = drivers.controller();
  const { volumeId } = await createVolume(controller, 'pvc-1', 32);
  const snapshotRequest = { name: 'snapshot-1', sourceVolumeId: volumeId };
  let snapshotId = '';
  await using(drivers, node, volumeId, async (directory) => {
    await writeFile(join(directory, 'data'), 'before');
    const { snapshot } = await controller.call<{ snapshot: CsiSnapshot }>('CreateSnapshot', snapshotRequest);
    snapshotId = snapshot.snapshotId;
    assert.ok(snapshot.readyToUse && snapshot.sourceVolumeId === volumeId);
    // The file system continues, and the snapshot is not taken again.
    await writeFile(join(directory, 'data'), 'after');
    assert.deepEqual(await controller.call('CreateSnapshot', snapshotRequest), { snapshot });
    await createVolume(controller, 'clone', 32, { volume: { volumeId } });
  });
  const restored = await createVolume(controller, 'restored', 64, { snapshot: { snapshotId } });
  assert.equal(restored.contentSource?.snapshot?.snapshotId, snapshotId);
  const read = async (id: string): Promise<string> => {
    let text = '';
    await using(drivers, node, id, async (directory) => {
      text = await readFile(join(directory, 'data'), 'utf8');
    });
    return text;
  };
  assert.deepEqual(
    [await read('clone'), await read('restored'), await read(volumeId)],
    ['after', 'before', 'after'],
  );
  const list = async (query: object): Promise<number> =>
    (await controller.call<{ entries: object[] }>('ListSnapshots', query)).entries.length;
  assert.deepEqual(
    [await list({}), await list({ snapshotId }), await list({ sourceVolumeId: 'none' })],
    [1, 1, 0],
  );
  const small = createRequest('small', 16, { snapshot: { snapshotId } });
  await assert.rejects(controller.call('CreateVolume', small), { code: 'OUT_OF_RANGE' });
  const none = createRequest('none', 16, { snapshot: { snapshotId: 'none' } });
  await assert.rejects(controller.call('CreateVolume', none), { code: 'NOT_FOUND' });
  await controller.call('DeleteSnapshot', { snapshotId });
  await controller.call('DeleteSnapshot', { snapshotId });
  assert.equal(await list({}), 0);
});

test(
  'a driver rejects what it does not support with the code that its caller expects',
  { skip },
  async (t) => {
    const drivers = await startDrivers(t);
    const controller = drivers.controller();
    await createVolume(controller, 'pvc-1', 16);
    const refused = async (method: string, request: object, code: string, of = controller): Promise<void> => {
      await assert.rejects(of.call(method, request), { code });
    };
    await refused('CreateVolume', createRequest('pvc-1', 64), 'ALREADY_EXISTS');
    await refused('CreateVolume', createRequest('', 16), 'INVALID_ARGUMENT');
    await refused(
      'CreateVolume',
      { ...createRequest('x', 16), parameters: { type: 'ssd' } },
      'INVALID_ARGUMENT',
    );
    const shared = { mount: {}, accessMode: { mode: 'MULTI_NODE_MULTI_WRITER' } };
    const block = { block: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } };
    for (const capability of [shared, block]) {
      const request = { ...createRequest('x', 16), volumeCapabilities: [capability] };
      await refused('CreateVolume', request, 'INVALID_ARGUMENT');
    }
    await refused(
      'ControllerPublishVolume',
      { volumeId: '../x', nodeId: 'n', volumeCapability: shared },
      'INVALID_ARGUMENT',
    );
    await refused('ControllerExpandVolume', { volumeId: '../pvc-1' }, 'NOT_FOUND');
    await refused(
      'ControllerModifyVolume',
      { volumeId: 'pvc-1', mutableParameters: { iops: 'all' } },
      'INVALID_ARGUMENT',
    );
    await controller.call('ControllerModifyVolume', {
      volumeId: 'pvc-1',
      mutableParameters: { iops: '100' },
    });
    const plain = drivers.controller(plainDriver);
    await createVolume(plain, 'pvc-1', 16);
    await refused('ControllerExpandVolume', { volumeId: 'pvc-1' }, 'UNIMPLEMENTED', plain);
    await refused('CreateSnapshot', { name: 's', sourceVolumeId: 'pvc-1' }, 'UNIMPLEMENTED', plain);
    await refused(
      'CreateVolume',
      createRequest('x', 16, { volume: { volumeId: 'pvc-1' } }),
      'UNIMPLEMENTED',
      plain,
    );
    await refused(
      'CreateVolume',
      createRequest('x', 16),
      'RESOURCE_EXHAUSTED',
      drivers.controller(zonalDriver),
    );
  },
);
