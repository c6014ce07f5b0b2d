import type { Stored } from '../../../kubernetes/object.ts';
import { ProductError } from '../../../errors/product-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { isDiskCid } from '../../objects/names.ts';
import { hubPath } from '../../objects/layout.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { discardReplacement } from '../update/replacement.ts';
import { assertNotMountedElsewhere, removeAttachmentPod } from './attached-elsewhere.ts';
import { AttachmentPod } from './attachment-pod.ts';
import { wasAttachedTo } from './attachment-record.ts';
import { deleteAttachmentsOfTerminatingVm, requireActiveVm } from './attachments.ts';
import { detachHot } from './detach-hot.ts';
import { assertNotLocked } from './disk-lock.ts';
import {
  attachmentDeletedError,
  concurrentAttachError,
  ensureAttached,
  maxAttempts,
} from './ensure-attached.ts';
import type { DiskAttacher } from './strategy.ts';

/** Attaches disks to a running VM by attachment pods. Model: hot.pml */
export class HotAttacher implements DiskAttacher {
  readonly #call: CallContext;
  readonly #vm: Stored<Pod>;

  constructor(call: CallContext, vm: Stored<Pod>) {
    this.#call = call;
    this.#vm = vm;
  }

  /**
   * Creates the attachment pod, records it on the claim and has its mount container mount the volume in the
   * VM. Returns the disk hint. On failure, deletes the attachment pod, also one that an interrupted call
   * created. Exception: if the disk may be mounted in the VM, the pod stays, because a job may be writing and
   * a deletion cannot be undone (roll-back-attach.ts). An attachment pod that a detach_disk has released, and
   * did not delete because it was killed, is replaced by a new one. Rejects with VM_NOT_FOUND for a
   * terminating VM.
   */
  async attach(claim: Stored<PersistentVolumeClaim>): Promise<string> {
    const call = this.#call;
    const vm = await requireActiveVm(call, this.#vmCid, this.#vm);
    await assertNotLocked(call, claim);
    await discardReplacement(call, claim);
    const diskCid = claim.metadata.name;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const { attachmentPod, outcome } = await ensureAttached(call, vm, claim, {
        adoptsMount: wasAttachedTo(claim, vm),
        bind: true,
        recheck: (current) => assertNotMountedElsewhere(call, current, vm),
      });
      if (outcome === 'bound') {
        await assertStillAttached(attachmentPod);
        return `${hubPath}/disks/${diskCid}/store`;
      }
      await removeAttachmentPod(call, attachmentPod);
    }
    throw concurrentAttachError(diskCid);
  }

  async detach(diskCid: string, isElsewhere: boolean): Promise<void> {
    if (!isElsewhere && isDiskCid(diskCid) && (await this.#detachWithoutPod(diskCid))) return;
    throw new ProductError(
      'DISK_NOT_ATTACHED',
      `disk '${diskCid}' is not attached to VM '${this.#vmCid}', so there is nothing to detach`,
    );
  }

  async disks(): Promise<string[]> {
    await deleteAttachmentsOfTerminatingVm(this.#call, this.#vm);
    const attachmentPods = await AttachmentPod.listOfVm(this.#call, this.#vmCid);
    return attachmentPods.filter(({ isTerminating }) => !isTerminating).map(({ diskCid }) => diskCid);
  }

  get #vmCid(): string {
    return this.#vm.metadata.name;
  }

  /**
   * Detaches a disk that is mounted in the VM without an attachment pod: another program deleted the pod, or
   * an earlier detach was killed after it had deleted the pod. Returns false if the disk is not mounted in
   * the VM.
   */
  async #detachWithoutPod(diskCid: string): Promise<boolean> {
    const { adoptMount, assertNotMounted, finishDetach } = await import('./leftover-mounts.ts');
    if (this.#vm.metadata.deletionTimestamp !== undefined) {
      await assertNotMounted(this.#call, this.#vm, diskCid);
    } else {
      const adopted = await adoptMount(this.#call, this.#vm, diskCid);
      if (adopted !== undefined) {
        await detachHot(this.#call, adopted.attachmentPod, diskCid, adopted.mark);
        return true;
      }
    }
    return finishDetach(this.#call, this.#vm, diskCid);
  }
}

/**
 * Rejects if the attachment pod was force-deleted while the bind script ran in it: another call may then have
 * found the VM without the disk.
 */
async function assertStillAttached(attachmentPod: AttachmentPod): Promise<void> {
  const current = await attachmentPod.reread();
  if (current === undefined || current.isTerminating) throw attachmentDeletedError(attachmentPod.diskCid);
}
