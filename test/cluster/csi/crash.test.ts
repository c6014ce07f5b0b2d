import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { devicesOf } from './devices.ts';
import { CsiError } from './grpc.ts';
import { driversAreMissing } from './testing/driver-process.ts';
import { startDrivers, type DriversFixture, type NodeFixture } from './testing/drivers-fixture.ts';
import { createRequest, mebibyte, stepsDown, stepsUp, type Step } from './testing/volume-calls.ts';

const skip = driversAreMissing() ?? false;

/** Returns the life of a volume and of a copy of it, in the order of the calls. */
function lifeOf(node: NodeFixture): readonly Step[] {
  const controller = (method: string, request: object): Step => ({ service: 'controller', method, request });
  const capacityRange = { requiredBytes: String(64 * mebibyte) };
  return [
    controller('CreateVolume', createRequest('pvc-1', 32)),
    ...stepsUp(node, 'pvc-1'),
    controller('CreateSnapshot', { name: 'snapshot-1', sourceVolumeId: 'pvc-1' }),
    ...stepsDown(node, 'pvc-1'),
    controller('ControllerExpandVolume', { volumeId: 'pvc-1', capacityRange }),
    controller('CreateVolume', createRequest('copy', 64, { snapshot: { snapshotId: 'snapshot-1' } })),
    ...stepsUp(node, 'copy'),
    ...stepsDown(node, 'copy'),
  ];
}

async function restart(
  { controllerProcess }: DriversFixture,
  node: NodeFixture,
  service: Step['service'],
): Promise<void> {
  const process = service === 'node' ? node.process : controllerProcess;
  await process.kill();
  await process.start();
}

test('each call of the driver has the same result after a kill of the driver', { skip }, async (t) => {
  const drivers = await startDrivers(t);
  const node = await drivers.startNode('node-1');
  const controller = drivers.controller();
  const store = await drivers.store();
  const data = join(node.path(node.target('pvc-1')), 'data');
  for (const { service, method, request } of lifeOf(node)) {
    const client = service === 'node' ? node.client : controller;
    const first = await client.call(method, request);
    await restart(drivers, node, service);
    assert.deepEqual(await retried(() => client.call(method, request)), first, method);
    if (method === 'NodePublishVolume' && !JSON.stringify(request).includes('copy'))
      await writeFile(data, 'kept');
    if (method === 'NodePublishVolume' && JSON.stringify(request).includes('copy')) {
      assert.equal(await readFile(join(node.path(node.target('copy')), 'data'), 'utf8'), 'kept');
    }
  }
  for (const id of ['pvc-1', 'copy']) {
    assert.deepEqual(await store.violations(id), [], id);
    assert.deepEqual(await devicesOf(store.image(id)), [], id);
  }
});

test('each call converges after a kill of the driver during the call', { skip }, async (t) => {
  const drivers = await startDrivers(t);
  const node = await drivers.startNode('node-1');
  const controller = drivers.controller();
  const store = await drivers.store();
  let moment = 0;
  for (const { service, method, request } of lifeOf(node)) {
    const client = service === 'node' ? node.client : controller;
    for (let cut = 0; cut < 2; cut += 1) {
      const under = client.call(method, request).catch((error: unknown) => error);
      // A call may be interrupted at any moment. The moments differ from call to call and with the machine.
      await pause((moment = (moment + 7) % 40));
      await restart(drivers, node, service);
      await under;
    }
    await retried(() => client.call(method, request));
  }
  for (const id of ['pvc-1', 'copy']) {
    assert.deepEqual(await store.violations(id), [], id);
    assert.deepEqual(await devicesOf(store.image(id)), [], id);
  }
});

/**
 * Retries like sidecars and kubelets: calls that failed because the driver was unavailable, or because of a
 * program that the previous process had left running.
 */
async function retried<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= 50 || !(error instanceof CsiError) || !['UNAVAILABLE', 'INTERNAL'].includes(error.code))
        throw error;
      await pause(100);
    }
  }
}
