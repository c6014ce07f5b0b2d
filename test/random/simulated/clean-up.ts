import { isProductError } from '../../../src/errors/product-error.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims } from '../../../src/kubernetes/resources.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { annotation } from '../../../src/cpi/objects/labels.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { comeBack } from './faults.ts';
import type { Oracle } from './oracle.ts';
import { type SimulatedWorld, namespace } from './simulated-world.ts';

export interface CleanUpOptions {
  readonly oracle: Oracle;
  readonly vmCids: readonly string[];
  readonly report: (summary: string) => void;
}

const rounds = 4;
const longestWaitMs = 300_000;
const notThere = ['DISK_NOT_ATTACHED', 'VM_NOT_FOUND', 'DISK_NOT_FOUND'] as const;

/**
 * Repeats the same calls without faults until all succeed. They must succeed in the end and leave no objects.
 */
export async function cleanUp(world: SimulatedWorld, options: CleanUpOptions): Promise<void> {
  for (const node of world.nodes) await comeBack(world, node);
  let failures: string[] = [];
  for (let remaining = rounds; remaining > 0; remaining -= 1) {
    failures = await cleanOnce(world, options);
    if (failures.length === 0) break;
  }
  const [failure] = failures;
  if (failure !== undefined) {
    options.report(`never comes to an end: ${failure}`);
    return;
  }
  const isEmpty = world.steps.when('nothing is left', () => leftOvers(world).length === 0);
  await Promise.race([isEmpty, world.clock.sleep(longestWaitMs)]);
  const remaining = leftOvers(world);
  if (remaining.length > 0) options.report(`left behind: ${remaining.join(', ')}`);
}

/** Returns the failures. */
async function cleanOnce(world: SimulatedWorld, { oracle, vmCids }: CleanUpOptions): Promise<string[]> {
  const { cloud } = world;
  const failures: string[] = [];
  const attempt = async (summary: string, call: () => Promise<unknown>): Promise<void> => {
    const failure = await failureOf(world, summary, call);
    if (failure !== undefined) failures.push(`${summary}: ${failure}`);
  };
  for (const disk of oracle.disks) {
    for (const cid of disk.names) {
      if (disk.isGivenUp) await giveUp(world, cid);
      for (const vmCid of vmCids) {
        oracle.untell(vmCid, disk);
        await attempt(`detach_disk ${vmCid} ${cid}`, () => detachDisk(cloud, { vmCid, diskCid: cid }));
      }
    }
  }
  for (const vmCid of vmCids) await attempt(`delete_vm ${vmCid}`, () => deleteVm(cloud, { vmCid }));
  for (const disk of oracle.disks) {
    for (const cid of disk.names) {
      if (disk.isGivenUp) await giveUp(world, cid);
      await attempt(`delete_disk ${cid}`, () => deleteDisk(cloud, { diskCid: cid }));
    }
  }
  return failures;
}

/** Returns the failure as text; undefined if the call succeeded, or its object does not exist. */
async function failureOf(
  world: SimulatedWorld,
  summary: string,
  call: () => Promise<unknown>,
): Promise<string | undefined> {
  world.steps.note(summary);
  try {
    await call();
    return undefined;
  } catch (error) {
    if (notThere.some((code) => isProductError(error, code))) return undefined;
    if (!isProductError(error) && !isApiError(error)) throw error;
    world.steps.note(`fails: ${error.message}`);
    return error.message;
  }
}

/** Annotates a lost claim, as an operator does who has deleted it. */
async function giveUp(world: SimulatedWorld, name: string): Promise<void> {
  const annotations = { [annotation.giveUp]: 'true' };
  try {
    await world.api.patch(
      { resource: persistentVolumeClaims, namespace, name },
      { metadata: { annotations } },
    );
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
      .map(({ metadata }) => `${kind} ${metadata.name}`),
  );
  const lives = nodes.flatMap(({ lives: all }) => [...all.values()].map(({ name }) => `life of ${name}`));
  return [...objects, ...lives];
}
