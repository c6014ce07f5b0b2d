import { isProductError } from '../../../src/errors/product-error.ts';
import { isApiError } from '../../../src/kubernetes/api-error.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims } from '../../../src/kubernetes/resources.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { annotation } from '../../../src/cpi/labels.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { comeBack } from './faults.ts';
import type { Oracle } from './oracle.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { namespace } from './simulated-world.ts';

export interface CleanUpOptions {
  readonly oracle: Oracle;
  readonly vmCids: readonly string[];
  readonly report: (words: string) => void;
}

const mostTries = 6;
const longestWaitMs = 300_000;
const notThere = ['DISK_NOT_ATTACHED', 'VM_NOT_FOUND', 'DISK_NOT_FOUND'] as const;

/** When nobody disturbs any more, the same calls again and again come to an end and leave nothing. */
export async function cleanUp(world: SimulatedWorld, { oracle, vmCids, report }: CleanUpOptions): Promise<void> {
  for (const node of world.nodes) await comeBack(world, node);
  const { cloud } = world;
  for (const disk of oracle.disks) {
    for (const vmCid of vmCids) {
      for (const cid of disk.names) {
        oracle.untell(vmCid, disk);
        if (disk.isGivenUp) await giveUp(world, cid);
        await repeat(world, `detach_disk ${vmCid} ${cid}`, report, () => detachDisk(cloud, [vmCid, cid]));
      }
    }
  }
  for (const vmCid of vmCids) await repeat(world, `delete_vm ${vmCid}`, report, () => deleteVm(cloud, [vmCid]));
  for (const disk of oracle.disks) {
    for (const cid of disk.names) {
      if (disk.isGivenUp) await giveUp(world, cid);
      await repeat(world, `delete_disk ${cid}`, report, () => deleteDisk(cloud, [cid]));
    }
  }
  const isEmpty = world.steps.when('nothing is left', () => leftOvers(world).length === 0);
  await Promise.race([isEmpty, world.clock.sleep(longestWaitMs)]);
  const left = leftOvers(world);
  if (left.length > 0) report(`left behind: ${left.join(', ')}`);
}

async function repeat(
  world: SimulatedWorld,
  words: string,
  report: (words: string) => void,
  call: () => Promise<unknown>,
): Promise<void> {
  let last: Error | undefined;
  for (let left = mostTries; left > 0; left -= 1) {
    world.steps.note(words);
    try {
      await call();
      return;
    } catch (error) {
      if (notThere.some((code) => isProductError(error, code))) return;
      if (!isProductError(error) && !isApiError(error)) throw error;
      world.steps.note(`fails: ${error.message.slice(0, 200)}`);
      last = error;
    }
  }
  report(`${words.split(' ')[0] ?? ''} never comes to an end: ${last?.message.slice(0, 300) ?? ''}`);
}

/** What an operator does who has lost a claim by his own hand. */
async function giveUp(world: SimulatedWorld, name: string): Promise<void> {
  const annotations = { [annotation.giveUp]: 'true' };
  try {
    await world.api.patch({ resource: persistentVolumeClaims, namespace, name }, { metadata: { annotations } });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
}

const kinds = [
  ...['pods', 'secrets', 'services', 'persistentvolumeclaims', 'persistentvolumes'],
  ...['volumesnapshots.snapshot.storage.k8s.io', 'volumesnapshotcontents.snapshot.storage.k8s.io'],
  'volumeattachments.storage.k8s.io',
];

function leftOvers({ api, nodes }: SimulatedWorld): string[] {
  const objects = kinds.flatMap((kind) =>
    (api.registry.store.list(kind) as unknown as KubernetesObject[])
      .filter(({ metadata }) => metadata.namespace === undefined || metadata.namespace === namespace)
      .map(({ metadata }) => `${kind} ${metadata.name ?? ''}`),
  );
  const lives = nodes.flatMap(({ lives: all }) => [...all.values()].map(({ name }) => `life of ${name}`));
  return [...objects, ...lives];
}
