import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import { annotation } from '../labels.ts';
import { waitForDeletion } from '../remove-object.ts';
import { findVm, findVmSecret, ownerUidOf, podReference, secretReference, vmNotFound } from './find-vm.ts';
import type { VmSecret } from './pod-record.ts';
import {
  recordedDiskCids,
  encodePod,
  isGated,
  otherGates,
  podKey,
  recordedPod,
  withDisks,
  withGate,
  copyMetadata,
} from './pod-record.ts';
import { waitUntilRunning } from './wait-until-running.ts';

const tries = 10;

/**
 * Writes down which disks the VM is to have, with what its living pod has been given since it was created,
 * on exactly the version of the Secret that was read; from here on any call of `reconcileRecordedPod` makes that pod.
 * Resolves with the Secret as it is now, whose version is another one even if its disks are the same;
 * undefined if the Secret has changed since it was read: nothing is written then. VM_NOT_FOUND if there is
 * no such VM any more. Model: recreate.pml.
 */
export async function recordDisks(
  cloud: CallContext,
  secret: VmSecret,
  pod: Pod | undefined,
  cids: readonly string[],
): Promise<VmSecret | undefined> {
  const { name = '', resourceVersion } = secret.metadata;
  const recorded = recordedPod(secret);
  if (recorded === undefined) throw vmNotFound(cloud, name);
  const wanted = copyMetadata(withDisks(recorded, cids), pod);
  try {
    return await cloud.api.patch<VmSecret>(secretReference(cloud, name), {
      metadata: { resourceVersion, annotations: { [annotation.changedBy]: cloud.newUuid() } },
      data: { [podKey]: encodePod(wanted) },
    });
  } catch (error) {
    if (isApiError(error, 404)) throw vmNotFound(cloud, name);
    if (isApiError(error, 409)) return undefined;
    throw error;
  }
}

/**
 * Makes the VM's pod the one that is recorded and waits until it runs. A pod with other disks is deleted
 * with its normal grace and waited for: before that its name, its address and its volumes are not free. The
 * scheduler places the new one. `recorded`: the Secret as it was just written. The record may change at any
 * time: the pod that this resolves with has the disks of a record that was read after the pod was there.
 * `deadlineSeconds`: how long a pod may take to end. Idempotent; rejects as `waitUntilRunning` does.
 * Model: recreate.pml.
 */
export async function reconcileRecordedPod(
  cloud: CallContext,
  vmCid: string,
  { recorded, deadlineSeconds }: { recorded?: VmSecret; deadlineSeconds: number },
): Promise<Pod> {
  let wanted = recorded === undefined ? undefined : recordedPod(recorded);
  for (let left = tries; ; left -= 1) {
    const pod = await ensurePod(cloud, vmCid, { recorded: wanted, deadlineSeconds });
    try {
      return await waitUntilRunning(cloud, pod);
    } catch (error) {
      wanted = await desiredPod(cloud, vmCid);
      if (left <= 1 || haveSameDisks(pod, wanted)) throw error;
    }
  }
}

/** As `reconcileRecordedPod`, without the wait: the pod may not have a node yet. */
export async function ensurePod(
  cloud: CallContext,
  vmCid: string,
  { recorded, deadlineSeconds }: { recorded?: Pod | undefined; deadlineSeconds: number },
): Promise<Pod> {
  let wanted = recorded;
  for (let left = tries; left > 0; left -= 1) {
    wanted ??= await desiredPod(cloud, vmCid);
    const pod = await tryPod(cloud, wanted, deadlineSeconds);
    if (pod !== undefined) return pod;
    wanted = undefined;
  }
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `the disks of VM '${vmCid}', or its pod, are changed by others again and again; run the call again`,
  );
}

/**
 * Removes the gate of a pod, which lets it start, if the VM's record, read after the pod was there, still
 * says so; undefined if it does not, or if the pod has changed: a later look decides about it. A call that
 * changes the record looks for the pod after that, and deletes one with other disks, gate or not. So of the
 * two one sees the other, and a disk that was detached is in no pod that starts. Model: recreate.pml.
 */
export async function openGate(cloud: CallContext, pod: Pod): Promise<Pod | undefined> {
  if (!isAsRecorded(pod, await desiredPod(cloud, pod.metadata.name ?? ''))) return undefined;
  return patchSeen(cloud, pod, { spec: { schedulingGates: otherGates(pod) } });
}

async function desiredPod(cloud: CallContext, vmCid: string): Promise<Pod> {
  const secret = await findVmSecret(cloud, vmCid);
  const pod = secret === undefined ? undefined : recordedPod(secret);
  if (pod === undefined) throw vmNotFound(cloud, vmCid);
  return pod;
}

/**
 * The pod that is wanted; undefined if the record or the pod was changed by another call, so that both have
 * to be read again.
 */
async function tryPod(cloud: CallContext, wanted: Pod, deadlineSeconds: number): Promise<Pod | undefined> {
  const { name = '' } = wanted.metadata;
  const found = await findVm(cloud, name);
  if (found !== undefined && isAsRecorded(found, wanted))
    return isGated(found) ? openGate(cloud, found) : keep(cloud, found);
  if (found !== undefined) {
    // a later record may be what this pod was created for
    if (!isAsRecorded(wanted, await desiredPod(cloud, name))) return undefined;
    if (!(await deletePod(cloud, found, deadlineSeconds))) return undefined;
  }
  // set_vm_metadata may have changed it after the record was written
  const former = found !== undefined && ownerUidOf(found) === ownerUidOf(wanted) ? found : undefined;
  const ensured = await createOrGet(cloud.api, pods, withGate(copyMetadata(wanted, former)));
  return ensured?.isNew === true ? openGate(cloud, ensured.object) : undefined;
}

/**
 * Changes the version of a pod that stays: a call that saw it under an earlier record, and is about to
 * delete it, looks again.
 */
const keep = (cloud: CallContext, pod: Pod): Promise<Pod | undefined> =>
  patchSeen(cloud, pod, { metadata: { annotations: { [annotation.changedBy]: cloud.newUuid() } } });

/** Undefined if the pod has changed since it was read, or is gone. */
async function patchSeen(
  cloud: CallContext,
  { metadata: { name = '', resourceVersion } }: Pod,
  patch: { metadata?: object; spec?: object },
): Promise<Pod | undefined> {
  try {
    return await cloud.api.patch<Pod>(podReference(cloud, name), {
      ...patch,
      metadata: { ...patch.metadata, resourceVersion },
    });
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return undefined;
    throw error;
  }
}

function isAsRecorded(pod: Pod, recorded: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    ownerUidOf(pod) === ownerUidOf(recorded) &&
    haveSameDisks(pod, recorded)
  );
}

function haveSameDisks(one: Pod, other: Pod): boolean {
  return process
    .getBuiltinModule('node:util')
    .isDeepStrictEqual(recordedDiskCids(one), recordedDiskCids(other));
}

/** False if the pod has changed since it was read: it is left alone then. */
async function deletePod(cloud: CallContext, pod: Pod, deadlineSeconds: number): Promise<boolean> {
  const { name = '', uid = '', deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined && !(await deleteSeen(cloud, pod))) return false;
  await waitForDeletion(cloud, {
    reference: podReference(cloud, name),
    uid,
    nodeName: pod.spec.nodeName,
    deadlineSeconds,
    what: `the former pod of VM '${name}'`,
  });
  return true;
}

async function deleteSeen(cloud: CallContext, { metadata }: Pod): Promise<boolean> {
  const { name = '', uid = '', resourceVersion = '' } = metadata;
  try {
    await cloud.api.delete(podReference(cloud, name), {
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Background',
    });
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return true;
    if (isApiError(error, 409)) return false;
    throw error;
  }
}
