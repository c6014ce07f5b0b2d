import type { Stored } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { conflictError } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { AttachmentPod } from '../disk/attach/attachment-pod.ts';
import { annotation, label } from '../objects/labels.ts';
import { labelValue } from '../objects/names.ts';
import { abandon, creationOf, resume } from './creation.ts';
import { findVm, findVmSecret, ownerUidOf, type VmSecret } from './vms.ts';
import { recordedDiskCids, recordedPod } from './recorded-pod.ts';
import { removeVm } from './delete-vm.ts';
import type { InstanceGroup } from '../objects/instance-group.ts';

const tries = 5;

/** The state by which a create_vm decides whether it may remove a VM. */
export interface VmState {
  readonly pod: Pod | undefined;
  /** The Secret that owns the VM. */
  readonly secret: Stored<VmSecret> | undefined;
  /** The disks that are attached to it or recorded for it. */
  readonly disks: readonly string[];
}

/**
 * Returns why a create_vm must not remove a VM, its own that failed or another one. Undefined if no caller
 * can know the VM: its create_vm did not finish, it has no metadata and no disk. Also undefined if its Secret
 * was deleted, because the cluster then deletes the rest.
 */
export function whyKept({ pod, secret, disks }: VmState): string | undefined {
  if (secret === undefined) return undefined;
  if (creationOf(secret) === 'done') return 'a create_vm has finished it';
  const described = [pod, recordedPod(secret)].some(
    (object) => object?.metadata.annotations?.[annotation.metadata] !== undefined,
  );
  if (described) return 'it has metadata, so its director knows it';
  return disks.length > 0 ? `disks are attached to it (${disks.join(', ')})` : undefined;
}

/**
 * Returns why a create_vm of another VM, which needs the address of this one, must not remove it. Besides
 * `whyKept`, the VM must belong to the same director, by its uuid, and to the same deployment, by
 * `env.bosh.groups`. Its instance group may be another one: each compilation VM has its own.
 */
export function whyNotReplaced(
  { directorUuid }: CallContext,
  state: VmState,
  { groupLabels }: InstanceGroup,
): string | undefined {
  if (state.secret === undefined) return undefined;
  const labels = state.secret.metadata.labels ?? {};
  const isSame = (key: string, value: string | undefined): boolean =>
    value !== undefined && labels[key] === value;
  if (!isSame(label.directorId, directorUuid === undefined ? undefined : labelValue(directorUuid)))
    return 'it is of another director';
  return [label.director, label.deployment].every((key) => isSame(key, groupLabels[key]))
    ? whyKept(state)
    : 'it is of another deployment';
}

/**
 * Reads the state of a VM. It reads the pod first: a pod that existed when its Secret was missing belongs to
 * no VM, and is removed. It reads the attachment pods last, so that one that is created before the Secret is
 * read counts.
 */
export async function readVmState(call: CallContext, cid: string): Promise<VmState> {
  const pod = await findVm(call, cid);
  const existing = await findVmSecret(call, cid);
  const owner = ownerUidOf(pod);
  const secret = pod !== undefined && existing?.metadata.uid !== owner ? undefined : existing;
  const recorded = secret === undefined ? undefined : recordedPod(secret);
  const attachmentPods = await AttachmentPod.listOfVm(call, cid);
  return {
    pod,
    secret,
    disks: [
      ...attachmentPods.map(({ diskCid }) => diskCid),
      ...(recorded === undefined ? [] : recordedDiskCids(recorded)),
    ],
  };
}

/**
 * Removes a VM whose create_vm has not finished. If `why` returns a reason to keep the VM, it returns that
 * reason and leaves the VM as it was. It calls `why` again after it has abandoned the creation; a disk that
 * is attached still later survives, as with delete_vm. After an interruption the same call continues. Rejects
 * as `removeVm` does. Model: create-vm.pml
 */
export async function removeUnfinished(
  call: CallContext,
  cid: string,
  why: (state: VmState) => string | undefined,
): Promise<string | undefined> {
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const state = await readVmState(call, cid);
    const reason = why(state);
    if (reason !== undefined) return reason;
    const { secret } = state;
    if (secret !== undefined && !(await abandon(call, secret))) continue;
    const later = secret === undefined ? undefined : why(await readVmState(call, cid));
    if (secret !== undefined && later !== undefined) {
      await resume(call, secret);
      return later;
    }
    const owner = secret?.metadata.uid ?? ownerUidOf(state.pod);
    if (owner !== undefined) await removeVm(call, cid, owner);
    return undefined;
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `VM '${cid}'`);
}
