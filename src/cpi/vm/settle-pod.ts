import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import { changedByOthers } from '../changed-by-others.ts';
import type { Cloud } from '../cloud.ts';
import { createUnlessThere } from '../create-unless-there.ts';
import { requestDeletion, waitUntilGone } from '../remove-object.ts';
import { findVm, findVmSecret, podReference, secretReference, vmNotFound } from './find-vm.ts';
import type { VmSecret } from './pod-record.ts';
import { disksOf, encodePod, podKey, recordedPod, withDisks, withMetadataOf } from './pod-record.ts';
import { waitUntilRunning } from './wait-until-running.ts';

const tries = 5;

export type DiskChange = (cids: readonly string[]) => readonly string[];

/**
 * Writes down which disks the VM is to have, with what its living pod has been given since it was made; from here on
 * `settlePod` can be done by whoever comes, however often. Two changes at once both count.
 */
export async function recordDisks(
  cloud: Cloud,
  first: VmSecret,
  pod: Pod | undefined,
  change: DiskChange,
): Promise<void> {
  const vmCid = first.metadata.name ?? '';
  let secret: VmSecret | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    const recorded = secret === undefined ? undefined : recordedPod(secret);
    if (secret === undefined || recorded === undefined) throw vmNotFound(cloud, vmCid);
    const wanted = withMetadataOf(withDisks(recorded, change(disksOf(recorded))), pod);
    if (await write(cloud, secret, wanted)) return;
    secret = await findVmSecret(cloud, vmCid);
  }
  throw changedByOthers('DISK_NOT_ATTACHABLE', `VM '${vmCid}'`);
}

/**
 * Makes the VM's pod the one that is recorded and waits until it runs. A pod with other disks is deleted with its normal
 * grace and waited for: before that its name, its address and its volumes are not free. The scheduler places the new
 * one. Idempotent; rejects as `waitUntilRunning` does.
 */
export async function settlePod(cloud: Cloud, vmCid: string): Promise<Pod> {
  for (let left = tries; ; left -= 1) {
    const wanted = await wantedPod(cloud, vmCid);
    try {
      const pod = await ensurePod(cloud, wanted);
      return await waitUntilRunning(cloud, pod);
    } catch (error) {
      const now = await wantedPod(cloud, vmCid);
      if (left <= 1 || haveSameDisks(now, wanted)) throw error;
    }
  }
}

async function wantedPod(cloud: Cloud, vmCid: string): Promise<Pod> {
  const secret = await findVmSecret(cloud, vmCid);
  const pod = secret === undefined ? undefined : recordedPod(secret);
  if (pod === undefined) throw vmNotFound(cloud, vmCid);
  return pod;
}

async function ensurePod(cloud: Cloud, wanted: Pod): Promise<Pod> {
  const { name = '' } = wanted.metadata;
  for (let left = tries; left > 0; left -= 1) {
    const found = await findVm(cloud, name);
    if (found !== undefined && isSettled(found, wanted)) return found;
    if (found !== undefined) await end(cloud, found);
    const made = await create(cloud, wanted);
    if (made !== undefined) return made;
  }
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `pods of the name ${name} are made by others; run the call again`,
  );
}

function isSettled(found: Pod, wanted: Pod): boolean {
  return (
    found.metadata.deletionTimestamp === undefined &&
    found.metadata.ownerReferences?.[0]?.uid === wanted.metadata.ownerReferences?.[0]?.uid &&
    haveSameDisks(found, wanted)
  );
}

function haveSameDisks(one: Pod, other: Pod): boolean {
  return process.getBuiltinModule('node:util').isDeepStrictEqual(disksOf(one), disksOf(other));
}

async function end(
  cloud: Cloud,
  { metadata: { name = '', uid = '', deletionTimestamp }, spec: { nodeName } }: Pod,
): Promise<void> {
  const reference = podReference(cloud, name);
  if (deletionTimestamp === undefined) await requestDeletion(cloud, reference, uid);
  const deadlineSeconds = cloud.config.deadlines.deleteVm;
  const what = `the former pod of VM '${name}'`;
  await waitUntilGone(cloud, { reference, uid, nodeName, deadlineSeconds, what });
}

async function create(cloud: Cloud, pod: Pod): Promise<Pod | undefined> {
  const ensured = await createUnlessThere(cloud.api, pods, pod);
  return ensured?.isNew === true ? ensured.object : undefined;
}

/** False where the Secret has changed since it was read. */
async function write(cloud: Cloud, { metadata }: VmSecret, pod: Pod): Promise<boolean> {
  const { name = '', resourceVersion } = metadata;
  try {
    await cloud.api.patch(secretReference(cloud, name), {
      metadata: { resourceVersion },
      data: { [podKey]: encodePod(pod) },
    });
    return true;
  } catch (error) {
    if (isApiError(error, 404)) throw vmNotFound(cloud, name);
    if (isApiError(error, 409)) return false;
    throw error;
  }
}
