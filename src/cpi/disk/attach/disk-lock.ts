import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import { changedByOthers } from '../../changed-by-others.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { waitUntilGone } from '../../remove-object.ts';
import { findVm, findVmSecret, podReference } from '../../vm/find-vm.ts';
import type { VmSecret } from '../../vm/pod-record.ts';
import { disksOf } from '../../vm/pod-record.ts';
import { dropCopy } from '../change/drop-copy.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { claimReference, findClaim } from '../claim.ts';
import { diskGone } from '../disk-not-found.ts';

const tries = 5;

/**
 * The strategy `recreate` has no attachment pod whose name only one VM can take, so the claim says which VM has it: the
 * VM's cid, and the uid of its Secret, which tells a later VM of the same name. A VM that is gone holds nothing.
 */
export const isHeldBy = ({ metadata }: PersistentVolumeClaim, secret: VmSecret): boolean =>
  metadata.labels?.[label.vmId] === secret.metadata.name &&
  metadata.annotations?.[annotation.vmUid] === secret.metadata.uid;

/**
 * The cid of the living VM that a claim names; undefined when there is none. A pod of a VM that is gone may still have
 * the volume: it is waited for.
 */
export async function livingHolder(cloud: Cloud, claim: PersistentVolumeClaim): Promise<string | undefined> {
  const vmCid = claim.metadata.labels?.[label.vmId];
  if (vmCid === undefined) return undefined;
  const secret = await findVmSecret(cloud, vmCid);
  if (secret !== undefined && isHeldBy(claim, secret)) return vmCid;
  const pod = await findVm(cloud, vmCid);
  const { name = '' } = claim.metadata;
  if (pod !== undefined && disksOf(pod).includes(name)) {
    await waitUntilGone(cloud, {
      reference: podReference(cloud, vmCid),
      uid: pod.metadata.uid ?? '',
      nodeName: pod.spec.nodeName,
      deadlineSeconds: cloud.config.deadlines.detachDisk,
      what: `the pod of the deleted VM '${vmCid}', which still has disk '${name}',`,
    });
  }
  return undefined;
}

/** Rejects with DISK_ATTACHED_ELSEWHERE where a living VM has the disk. */
export async function refuseHeld(cloud: Cloud, claim: PersistentVolumeClaim): Promise<void> {
  const holder = await livingHolder(cloud, claim);
  if (holder === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name ?? ''}' is attached to VM '${holder}'; detach it there first`,
  );
}

/** Gives the disk to that VM, which claims it too. Idempotent; of two VMs at once one gets it. */
export async function lockDisk(cloud: Cloud, first: PersistentVolumeClaim, secret: VmSecret): Promise<void> {
  let claim = first;
  const { name = '' } = claim.metadata;
  for (let left = tries; left > 0; left -= 1) {
    if (isHeldBy(claim, secret)) return;
    await refuseHeld(cloud, claim);
    if (await mark(cloud, claim, secret)) return;
    const now = await findClaim(cloud, name);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined)
      throw diskGone(name, 'was deleted meanwhile');
    // of an update_disk that began meanwhile: what the VM writes would not be in it
    await dropCopy(cloud, now);
    claim = now;
  }
  throw changedByOthers('DISK_NOT_ATTACHABLE', `disk '${name}'`);
}

/**
 * Takes the disk from that VM, and from no other: while this call worked another may have taken it from the VM and given
 * it to the next. Idempotent.
 */
export async function unlockDisk(cloud: Cloud, diskCid: string, secret: VmSecret): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(cloud, diskCid);
    if (claim === undefined || !isHeldBy(claim, secret)) return;
    if (await unmark(cloud, claim)) return;
  }
  throw changedByOthers('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/** What a VM that is gone left on a claim goes; one that was given the disk since `claim` was read keeps it. */
export async function freeOfDeadVm(cloud: Cloud, claim: PersistentVolumeClaim): Promise<void> {
  if (claim.metadata.labels?.[label.vmId] !== undefined) await unmark(cloud, claim);
}

async function unmark(
  cloud: Cloud,
  { metadata: { name = '', resourceVersion } }: PersistentVolumeClaim,
): Promise<boolean> {
  try {
    await cloud.api.patch(claimReference(cloud, name), {
      metadata: {
        resourceVersion,
        labels: { [label.vmId]: null },
        annotations: { [annotation.vmUid]: null },
      },
    });
    return true;
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return false;
    throw error;
  }
}

async function mark(
  cloud: Cloud,
  { metadata: { name = '', resourceVersion } }: PersistentVolumeClaim,
  { metadata: { name: vmCid, uid } }: VmSecret,
): Promise<boolean> {
  try {
    await cloud.api.patch(claimReference(cloud, name), {
      metadata: {
        resourceVersion,
        labels: { [label.vmId]: vmCid, [label.unclaimed]: null },
        annotations: { [annotation.vmUid]: uid },
      },
    });
    return true;
  } catch (error) {
    if (isApiError(error, 409)) return false;
    throw error;
  }
}
