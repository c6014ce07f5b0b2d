import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { isVmCid, podReference, secretReference } from '../objects/names.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import { AttachmentPod } from '../disk/attach/attachment-pod.ts';
import { findClaims, findClaimsOfVm, assertClaimsRetained } from '../disk/attach/retained-claims.ts';
import { cleanUpHub } from '../disk/attach/leftover-mounts.ts';
import { strategyOf } from '../disk/attach/strategy.ts';
import { isManaged } from '../objects/labels.ts';
import { type LostNode, lostNodeError } from '../objects/node-state.ts';
import { ignoreConflict } from '../../kubernetes/api.ts';
import { requestDeletion, waitForDeletion, type DeletionWaitOptions } from '../objects/objects.ts';
import { releaseServices, waitForServiceDeletion } from '../service/release-services.ts';
import { budgetGroupOf, removeVmFromBudget } from './disruption-budget.ts';
import { findVm, findVmSecret, ownerUidOf } from './vms.ts';
import { waitForClaimDeletion } from './claims.ts';
import { requestedAddresses } from '../network/fixed-addresses.ts';
import { recordedDiskCids } from './recorded-pod.ts';

/**
 * delete_vm(vm_cid): returns when all objects of the VM are deleted. A missing VM is success; its disks stay.
 */
export async function deleteVm(call: CallContext, { vmCid: cid }: VmCidRequest): Promise<null> {
  if (isVmCid(cid)) await removeVm(call, cid);
  return null;
}

/**
 * Removes all objects of a VM and waits until they are deleted; its disks stay, detached. A missing VM is
 * success.
 *
 * Order: first it hands over the Services, while the Secret still lists them. Then it deletes the Secret; it
 * owns the rest, so the garbage collector finishes even if this process dies. At the same time it deletes the
 * attachment pods: the VM's pod cannot end while they are mounted in its hub, and they cannot end while its
 * jobs use a disk. With a disruption budget the order is pod, attachment pods, budget, Secret. Rejects with
 * DEADLINE; with NODE_LOST if its node is lost and more than the pod is at stake; and,
 * before any change, with DISK_WOULD_BE_LOST. With the uid of a Secret it removes only the VM of that Secret,
 * not another VM that has got the same name since. Models: create-vm.pml, hot.pml
 */
export async function removeVm(call: CallContext, cid: string, secretUid?: string): Promise<void> {
  const { pod, secret, attachments } = await findObjects(call, cid, secretUid);
  const isRecreated = [pod, secret].some(
    (object) => object !== undefined && strategyOf(object) === 'recreate',
  );
  assertClaimsRetained(cid, [
    ...(await findClaims(
      call,
      attachments.map(({ diskCid }) => diskCid),
    )),
    ...(isRecreated ? await findClaimsOfVm(call, cid) : []).filter((claim) => isManaged(claim, 'disk')),
  ]);
  const owned = objectsByName(call, cid, pod, secret);
  const services = secret === undefined ? [] : await releaseServices(call, secret);
  await requestDeletions(call, cid, { owned, attachments, group: groupWithBudget(pod, secret) });
  await waitForDeletions(call, cid, { owned, attachments, services, pod, hasHub: !isRecreated });
  if (isRecreated) await waitForClaimDeletion(call, cid, secretUid);
  else if (pod !== undefined) await deleteLateAttachments(call, pod);
}

interface Deletions {
  readonly owned: readonly OwnedObject[];
  readonly attachments: readonly AttachmentPod[];
  readonly services: readonly { readonly name: string; readonly uid: string }[];
  readonly pod: Stored<Pod> | undefined;
  readonly hasHub: boolean;
}

/**
 * Waits until all of these objects are deleted. If the pod stays after its attachment pods are deleted,
 * removes the mounts in its hub that keep it.
 */
async function waitForDeletions(
  call: CallContext,
  cid: string,
  { owned, attachments, services, pod, hasHub }: Deletions,
): Promise<void> {
  const deadlineSeconds = call.config.deadlines.deleteVm;
  const what = `VM '${cid}'`;
  const whenLost = (lost: LostNode): Promise<void> => forceDeleteOnLostNode(call, cid, pod, lost);
  const attachmentsDeleted = Promise.all(
    attachments.map((attachmentPod) => attachmentPod.waitForDeletion(deadlineSeconds, whenLost)),
  );
  const allDeleted = Promise.all([
    attachmentsDeleted,
    ...owned.map((object) => waitForDeletion(call, { ...object, deadlineSeconds, what, whenLost })),
    waitForServiceDeletion(call, services),
  ]);
  const hubCleanedUp =
    pod === undefined || !hasHub
      ? undefined
      : attachmentsDeleted.then(() => cleanUpHub(call, pod, allDeleted));
  for (const result of await Promise.allSettled([hubCleanedUp, allDeleted])) {
    if (result.status === 'rejected') throw result.reason;
  }
}

/**
 * Deletes the attachment pods of a slow attach_disk, which read the VM before the VM was deleted. One that is
 * created still later finds no hub.
 */
async function deleteLateAttachments(call: CallContext, vm: Pod): Promise<void> {
  const { name } = vm.metadata;
  const late = (await AttachmentPod.listInHub(call, name)).filter((pod) => pod.belongsTo(vm));
  if (late.length === 0) return;
  assertClaimsRetained(
    name,
    await findClaims(
      call,
      late.map(({ diskCid }) => diskCid),
    ),
  );
  for (const attachmentPod of late) await attachmentPod.delete();
  for (const attachmentPod of late) await attachmentPod.waitForDeletion(call.config.deadlines.deleteVm);
}

async function findObjects(
  call: CallContext,
  cid: string,
  secretUid: string | undefined,
): Promise<VmObjects> {
  const [pod, secret, attachments] = await Promise.all([
    findVm(call, cid),
    findVmSecret(call, cid),
    AttachmentPod.listInHub(call, cid),
  ]);
  if (secretUid === undefined) return { pod, secret, attachments };
  const own = ownerUidOf(pod) === secretUid ? pod : undefined;
  return {
    pod: own,
    secret: secret?.metadata.uid === secretUid ? secret : undefined,
    attachments: own === undefined ? [] : attachments.filter((attachmentPod) => attachmentPod.belongsTo(own)),
  };
}

interface VmObjects {
  readonly pod: Stored<Pod> | undefined;
  readonly secret: Stored<KubernetesObject> | undefined;
  readonly attachments: readonly AttachmentPod[];
}

type OwnedObject = Pick<DeletionWaitOptions, 'reference' | 'uid' | 'nodeName'>;

/** Returns the objects that are deleted by name, the Secret first: the rest is deleted with it. */
function objectsByName(
  call: CallContext,
  cid: string,
  pod: Stored<Pod> | undefined,
  secret: Stored<KubernetesObject> | undefined,
): OwnedObject[] {
  const owned: OwnedObject[] = [];
  if (secret !== undefined) owned.push({ reference: secretReference(call, cid), uid: secret.metadata.uid });
  if (pod !== undefined) {
    const { uid } = pod.metadata;
    owned.push({ reference: podReference(call, cid), uid, nodeName: pod.spec.nodeName });
  }
  return owned;
}

/**
 * Returns the instance group whose disruption budget counts the VM as long as any of its objects exists;
 * undefined if the VM has none.
 */
const groupWithBudget = (...objects: readonly (KubernetesObject | undefined)[]): string | undefined =>
  objects.flatMap((object) => (object === undefined ? [] : (budgetGroupOf(object) ?? []))).at(0);

interface DeletionRequest {
  readonly owned: readonly OwnedObject[];
  readonly attachments: readonly AttachmentPod[];
  readonly group: string | undefined;
}

/**
 * Deletes everything. With a budget the pod is deleted before the budget is updated, because a terminating
 * pod does not count anymore, and the Secret after that: it names the group for a call that comes after this
 * one was killed, when the pod may not exist anymore.
 */
async function requestDeletions(
  call: CallContext,
  cid: string,
  { owned, attachments, group }: DeletionRequest,
): Promise<void> {
  const waitsForBudget = ({ reference }: OwnedObject): boolean =>
    group !== undefined && reference.resource !== pods;
  for (const object of owned)
    if (!waitsForBudget(object)) await requestDeletion(call, object.reference, object.uid);
  for (const attachmentPod of attachments) await attachmentPod.delete();
  if (group === undefined) return;
  await removeVmFromBudget(call, group, cid);
  for (const object of owned)
    if (waitsForBudget(object)) await requestDeletion(call, object.reference, object.uid);
}

/**
 * Force-deletes the pod of a terminating VM on a lost node if the VM has neither disks nor a fixed address:
 * it can do no harm if it still runs. Otherwise rejects with NODE_LOST, because it may still write to a disk
 * that the next VM gets, or answer at its address; the message contains the steps for an operator. Never
 * force-deletes attachment pods.
 */
async function forceDeleteOnLostNode(
  call: CallContext,
  cid: string,
  pod: Stored<Pod> | undefined,
  lost: LostNode,
): Promise<void> {
  const disks = [
    ...new Set([
      ...(await AttachmentPod.listOfVm(call, cid)).map(({ diskCid }) => diskCid),
      ...(pod === undefined ? [] : recordedDiskCids(pod)),
    ]),
  ];
  const address = pod === undefined ? undefined : requestedAddresses(pod);
  const stakes = [
    ...(disks.length === 0 ? [] : [`its disks ${disks.map((disk) => `'${disk}'`).join(', ')}`]),
    ...(address === undefined ? [] : [`its address ${address}`]),
  ];
  if (stakes.length > 0)
    throw lostNodeError(`VM '${cid}' was not removed by force`, lost, { stakes, isDeleting: true });
  if (pod !== undefined) await forceDelete(call, pod);
}

async function forceDelete(call: CallContext, { metadata: { name, uid } }: Stored<Pod>): Promise<void> {
  await ignoreConflict(
    call.api.delete(podReference(call, name), { gracePeriodSeconds: 0, preconditions: { uid } }),
  );
}
