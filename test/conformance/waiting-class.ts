import { randomUUID } from 'node:crypto';
import { storageClasses } from '../../src/kubernetes/resources.ts';
import type { World } from './world.ts';

/** Does something with a storage class of the default one's driver that waits for its first consumer. */
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
