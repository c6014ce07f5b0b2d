import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { lookAtNode } from '../../node/look-at-node.ts';
import { lostNodeError } from '../../node/lost-node-error.ts';
import { findVm, findVmSecret } from '../../vm/find-vm.ts';
import type { VmSecret } from '../../vm/pod-record.ts';
import { disksOf, recordedPod } from '../../vm/pod-record.ts';
import { recordDisks, settlePod } from '../../vm/settle-pod.ts';
import { hubPath } from '../../vm/vm-pod.ts';
import { waitForAgent } from '../../vm/wait-for-agent.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { findClaim } from '../claim.ts';
import { isHeldBy, lockDisk, unlockDisk } from './disk-lock.ts';
import { clearAttachment } from './hot.ts';
import { refuseInUse } from './in-use.ts';
import { claimsOfRecreatedVm, refuseLoss } from './refuse-loss.ts';
import { strategyOf } from './strategy.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/** A VM whose pod is made anew for its disks. Between the former pod and the next it has none. */
export interface RecreatedVm {
  readonly secret: VmSecret;
  readonly pod: Pod | undefined;
}

/** That VM, given its pod if it has one; undefined for a VM of another strategy and for none. */
export async function findRecreatedVm(
  cloud: Cloud,
  cid: string,
  pod: Pod | undefined,
): Promise<RecreatedVm | undefined> {
  if (pod !== undefined && strategyOf(pod) !== 'recreate') return undefined;
  const secret = await findVmSecret(cloud, cid);
  if (secret === undefined || strategyOf(secret) !== 'recreate') return undefined;
  return { secret, pod };
}

/** The disks that the VM is to have. */
export function disksOfRecreatedVm({ secret }: RecreatedVm): string[] {
  const recorded = recordedPod(secret);
  return recorded === undefined ? [] : disksOf(recorded);
}

/**
 * Strategy `recreate`: the claim is given to the VM, the VM's disks are recorded, then its pod is made anew with the
 * volume. Killed at any point it is finished by the next call. Where the new pod does not start the VM gets its former
 * disks back; a disk that its pod had already is not taken away. Resolves with the hint, the same as under `hot`.
 */
export async function attachByRecreate(
  cloud: Cloud,
  vm: RecreatedVm,
  claim: PersistentVolumeClaim,
): Promise<string> {
  const vmCid = vm.secret.metadata.name ?? '';
  const diskCid = claim.metadata.name ?? '';
  refuseOtherNamespace(cloud, vmCid, diskCid);
  refuseLoss(vmCid, await claimsOfRecreatedVm(cloud, vmCid));
  const isRecorded = disksOfRecreatedVm(vm).includes(diskCid);
  const isMounted = isRecorded && vm.pod !== undefined && disksOf(vm.pod).includes(diskCid);
  if (!isRecorded) await refuseLostNode(cloud, vm);
  await lockDisk(cloud, claim, vm.secret);
  if (!isRecorded) await refuseAttachment(cloud, vm.secret, diskCid);
  try {
    if (!isRecorded) {
      await recordDisks(cloud, vm.secret, vm.pod, (cids) => [
        ...cids.filter((cid) => cid !== diskCid),
        diskCid,
      ]);
    }
    await settlePod(cloud, vmCid);
  } catch (error) {
    // a job may be writing to it
    if (isMounted) throw error;
    if (!isProductError(error) && !isApiError(error)) throw error;
    throw await takenBack(cloud, vm.secret, diskCid, error);
  }
  return `${hubPath}/disks/${diskCid}/store`;
}

/**
 * Detaches by making the pod anew without the volume, and waits for its agent, which a director speaks to at once. DISK_BUSY while something in the VM uses it: nothing was changed
 * then. DISK_NOT_ATTACHED where neither the record, nor the pod, nor the claim says that it is attached.
 */
export async function detachByRecreate(cloud: Cloud, vm: RecreatedVm, diskCid: string): Promise<void> {
  const { secret, pod } = vm;
  const vmCid = secret.metadata.name ?? '';
  const isRecorded = disksOfRecreatedVm(vm).includes(diskCid);
  const isMounted = pod !== undefined && disksOf(pod).includes(diskCid);
  const claim = await findClaim(cloud, diskCid);
  const isHeld = claim !== undefined && isHeldBy(claim, secret);
  if (!isRecorded && !isMounted && !isHeld) {
    throw new ProductError(
      'DISK_NOT_ATTACHED',
      `disk '${diskCid}' is not attached to VM '${vmCid}', so there is nothing to detach`,
    );
  }
  refuseLoss(vmCid, await claimsOfRecreatedVm(cloud, vmCid));
  if (isRecorded) {
    await refuseLostNode(cloud, vm);
    if (isMounted) await refuseInUse(cloud, pod, diskCid);
    await recordDisks(cloud, secret, pod, (cids) => cids.filter((cid) => cid !== diskCid));
  }
  const made = await settlePod(cloud, vmCid).catch((error: unknown) => {
    if (!isProductError(error)) throw error;
    throw new ProductError(
      'VM_NOT_RESTARTED',
      `VM '${vmCid}' does not start again without disk '${diskCid}': ${error.message}; detach the disk again or delete the VM`,
      { cause: error },
    );
  });
  await waitForAgent(cloud, secret, made);
  // before the claim is anybody's: a call that met its deadline here is finished by the next
  if (claim !== undefined) {
    // such a call does not see the pod that had the disk any more, nor its node
    await waitUntilOffNode(cloud, claim, isMounted ? pod.spec.nodeName : undefined);
  }
  if (isHeld) await unlockDisk(cloud, diskCid, secret);
}

/** A pod does not end while its node does not answer, and no other can take its name: NODE_LOST, nothing changed. */
async function refuseLostNode(cloud: Cloud, { secret, pod }: RecreatedVm): Promise<void> {
  const nodeName = pod?.spec.nodeName;
  if (pod === undefined || nodeName === undefined) return;
  const state = await lookAtNode(cloud, nodeName);
  if (state.kind !== 'lost') return;
  const stakes = disksOf(pod).map((cid) => `its disk '${cid}'`);
  throw lostNodeError(`the disks of VM '${secret.metadata.name ?? ''}' were not changed`, state, stakes);
}

/** A VM of the strategy `hot` may have been given the disk between our look and the lock (mark-attached.ts). */
async function refuseAttachment(cloud: Cloud, secret: VmSecret, diskCid: string): Promise<void> {
  try {
    await clearAttachment(cloud, diskCid);
  } catch (error) {
    await unlockDisk(cloud, diskCid, secret);
    throw error;
  }
}

/** A pod mounts claims of its own namespace alone. */
function refuseOtherNamespace(cloud: Cloud, vmCid: string, diskCid: string): void {
  const disks = diskNamespaceOf(cloud);
  if (disks === cloud.namespace) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `disk '${diskCid}' of namespace ${disks} cannot be attached to VM '${vmCid}' of namespace ${cloud.namespace}: its strategy is recreate, and a pod mounts claims of its own namespace only; make the VM with the strategy hot or leave out kubernetes.disk_namespace`,
  );
}

/** The error to report, after the VM has its former disks again; where it has not, the error says that too. */
async function takenBack(cloud: Cloud, former: VmSecret, diskCid: string, error: Error): Promise<unknown> {
  const vmCid = former.metadata.name ?? '';
  const failure = (rest: string): ProductError =>
    new ProductError(
      'DISK_NOT_ATTACHABLE',
      `disk '${diskCid}' cannot be attached to VM '${vmCid}': ${error.message}${rest}`,
      { cause: error },
    );
  try {
    const secret = await findVmSecret(cloud, vmCid);
    if (secret !== undefined && secret.metadata.uid === former.metadata.uid) {
      await recordDisks(cloud, secret, await findVm(cloud, vmCid), (cids) =>
        cids.filter((cid) => cid !== diskCid),
      );
      await settlePod(cloud, vmCid);
    }
    await unlockDisk(cloud, diskCid, former);
    return failure('');
  } catch (second) {
    if (!(second instanceof Error)) throw second;
    return failure(`; taking it back failed: ${second.message}; detach the disk to try that again`);
  }
}
