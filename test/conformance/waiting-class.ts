import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { storageClasses } from '../../src/kubernetes/resources.ts';
import type { World } from './world.ts';

/** Runs `use` with a storage class of the default one's driver that waits for its first consumer. */
export async function withWaitingClass(world: World, use: (name: string) => Promise<void>): Promise<void> {
  const name = `conformance-waits-${randomUUID().slice(0, 8)}`;
  const { provisioner, parameters } = await world.defaultClass();
  await world.api.create(storageClasses, {
    ...{ metadata: { name }, provisioner, volumeBindingMode: 'WaitForFirstConsumer' },
    ...(parameters === undefined ? {} : { parameters }),
  });
  try {
    await use(name);
  } finally {
    await world.api.delete({ resource: storageClasses, name });
  }
}

/**
 * Runs attach_disk, the first consumer of such a disk. If the scheduler and the volume controller write the
 * volume's claim at the same time, the controller retries at its next resync, 15 s later (kubernetes:
 * pv_controller_base.go).
 */
export async function attachWaiting(world: World, vm: string, disk: string): Promise<void> {
  const patient = { settings: { deadlines: { schedule: 60 } } };
  const { error } = await world.request('attach_disk', [vm, disk], patient);
  assert.equal(error, null, `attach_disk: ${error?.type}: ${error?.message}`);
}
