import { ignoreNotFound, type ObjectReference } from '../../../kubernetes/api.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { Stored } from '../../../kubernetes/object.ts';
import { type ContainerStatus, type Pod, isTerminal } from '../../../kubernetes/types/pod.ts';
import type { CallContext, ExecResult } from '../../call.ts';
import { annotation, isManaged, label } from '../../objects/labels.ts';
import { mountContainer } from '../../objects/layout.ts';
import { attachmentPodName, isDiskCid } from '../../objects/names.ts';
import {
  type DeletionWaitOptions,
  createOrGet,
  requestDeletion,
  waitForDeletion,
  deleteIfUnchanged,
} from '../../objects/objects.ts';
import { findVm } from '../../vm/vms.ts';
import { mountFailedExit, untilReadyIn } from './scripts/volume-functions.ts';

/** A script for the mount container. `name` becomes its $0. */
export interface MountContainerScript {
  readonly name: string;
  readonly text: string;
}

/** Returns a reference to the pod of that name in the namespace of the attachment pods. */
export const attachmentReference = (call: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: call.diskNamespace,
  name,
});

/**
 * The pod that attaches one disk to one VM, in the version that was read. A sweeper (leftover-mounts.ts) is
 * one, too; its `diskCid` is the cid of the VM.
 */
export class AttachmentPod {
  readonly pod: Stored<Pod>;
  readonly #call: CallContext;

  constructor(call: CallContext, pod: Stored<Pod>) {
    this.#call = call;
    this.pod = pod;
  }

  /** Finds the attachment pod of a disk, of any VM. */
  static async find(call: CallContext, diskCid: string): Promise<AttachmentPod | undefined> {
    const pod = await ignoreNotFound(
      call.api.get<Pod>(attachmentReference(call, attachmentPodName(diskCid))),
    );
    return pod !== undefined && isManaged(pod, 'attachment') ? new AttachmentPod(call, pod) : undefined;
  }

  /** Returns the attachment pods of a VM's disks, including terminating ones. */
  static async listOfVm(call: CallContext, vmCid: string): Promise<AttachmentPod[]> {
    return (await AttachmentPod.listInHub(call, vmCid)).filter(({ diskCid }) => isDiskCid(diskCid));
  }

  /** Returns all pods that work in the hub of a VM: the attachment pods of its disks, and a sweeper. */
  static async listInHub(call: CallContext, vmCid: string): Promise<AttachmentPod[]> {
    const { items } = await call.api.list<Pod>(pods, {
      namespace: call.diskNamespace,
      labelSelector: `${label.kind}=attachment,${label.vmId}=${vmCid}`,
    });
    return items.map((pod) => new AttachmentPod(call, pod));
  }

  /** Creates the pod; undefined if one of that name exists. */
  static async create(call: CallContext, pod: Pod): Promise<AttachmentPod | undefined> {
    const ensured = await createOrGet(call.api, pods, pod);
    return ensured?.isNew === true ? new AttachmentPod(call, ensured.object) : undefined;
  }

  get name(): string {
    return this.pod.metadata.name;
  }

  get uid(): string {
    return this.pod.metadata.uid;
  }

  get diskCid(): string {
    return this.pod.metadata.labels?.[label.diskId] ?? '';
  }

  get vmCid(): string {
    return this.pod.metadata.labels?.[label.vmId] ?? '';
  }

  /** The uid of the VM's pod. */
  get vmUid(): string | undefined {
    return this.pod.metadata.annotations?.[annotation.vmUid];
  }

  get vmNamespace(): string {
    return this.pod.metadata.annotations?.[annotation.vmNamespace] ?? this.#call.namespace;
  }

  get nodeName(): string | undefined {
    return this.pod.spec.nodeName;
  }

  get isTerminating(): boolean {
    return this.pod.metadata.deletionTimestamp !== undefined;
  }

  /**
   * True if the pod was evicted, shut down with its node, or rejected by the kubelet after its restart. Its
   * status may list no container (kubernetes: pkg/kubelet eviction, nodeshutdown, rejectPod). Its mount may
   * still be in the VM.
   */
  get isTerminal(): boolean {
    return isTerminal(this.pod);
  }

  /** True while the mount container runs: it can report then whether the volume is in the VM. */
  get isRunning(): boolean {
    return this.#containerStatus?.state?.running !== undefined;
  }

  /** True if the mount container ever ran. */
  get hasStarted(): boolean {
    const { state, lastState } = this.#containerStatus ?? {};
    return (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined;
  }

  /**
   * The reason why the last start of the mount container could not mount the volume in the VM; undefined if
   * it could, or has not ended.
   */
  get mountFailure(): string | undefined {
    const { state, lastState } = this.#containerStatus ?? {};
    if (state?.running !== undefined) return undefined;
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended?.exitCode !== mountFailedExit) return undefined;
    return ended.message?.trim() ?? `mounting it failed with exit code ${ended.exitCode}`;
  }

  /** True for a pod that was created when the disk may still have been mounted from an earlier one. */
  get adoptsMount(): boolean {
    return this.pod.metadata.annotations?.[annotation.adoptsMount] === 'true';
  }

  /**
   * True if the disk may be mounted in the VM: the mount container has run (or adopted an existing mount) and
   * did not report a mount failure.
   */
  get mayBeMounted(): boolean {
    return (this.hasStarted || this.adoptsMount) && this.mountFailure === undefined;
  }

  get #containerStatus(): ContainerStatus | undefined {
    return this.pod.status?.containerStatuses?.find(({ name }) => name === mountContainer);
  }

  /** Returns true if that pod is the VM's, not one of another VM that has got the same cid since. */
  belongsTo(vm: Pod): boolean {
    return this.vmUid === vm.metadata.uid;
  }

  /** Describes the VM, with its namespace if that is not the namespace of this CPI's VMs. */
  describeVm(): string {
    const namespace = this.vmNamespace;
    return `VM '${this.vmCid}'${namespace === this.#call.namespace ? '' : ` of namespace ${namespace}`}`;
  }

  /** Finds the pod of the VM, also a terminating one; undefined if it is deleted. */
  async findVm(): Promise<Stored<Pod> | undefined> {
    const vm = await findVm(this.#call, this.vmCid);
    return vm !== undefined && this.belongsTo(vm) ? vm : undefined;
  }

  /**
   * Returns true while the VM exists, also while it is terminating. A VM in another namespace with the same
   * `disk_namespace` is assumed to exist, because this CPI may not read it.
   */
  async vmExists(): Promise<boolean> {
    return this.vmNamespace !== this.#call.namespace || (await this.findVm()) !== undefined;
  }

  /** Returns the current version; undefined if the pod is deleted. */
  async reread(): Promise<AttachmentPod | undefined> {
    const current = await AttachmentPod.find(this.#call, this.diskCid);
    return current?.uid === this.uid ? current : undefined;
  }

  /**
   * Runs a script in the mount container. Its arguments are the cid of the disk, the uid of the VM's pod, the
   * uid of this pod, and `args`.
   */
  exec(
    { name, text }: MountContainerScript,
    deadlineMs: number,
    ...args: readonly string[]
  ): Promise<ExecResult> {
    const script = untilReadyIn(this.pod) + text;
    return this.#call.exec({
      namespace: this.#call.diskNamespace,
      pod: this.name,
      container: mountContainer,
      command: ['/bin/sh', '-c', script, name, this.diskCid, this.vmUid ?? '', this.uid, ...args],
      deadlineMs,
    });
  }

  /**
   * Requests the deletion. The mount container unmounts the disk when nothing uses it, so this never
   * interrupts a job. A deletion cannot be undone: call it only after the release succeeded.
   */
  async delete(): Promise<void> {
    await requestDeletion(this.#call, attachmentReference(this.#call, this.name), this.uid);
  }

  /**
   * Requests the deletion of the version that was read. Returns false if the pod has changed since: its mount
   * container may run now.
   */
  deleteIfUnchanged(): Promise<boolean> {
    return deleteIfUnchanged(this.#call, attachmentReference(this.#call, this.name), this.pod);
  }

  /**
   * Waits until the pod is deleted. Never force-deletes it: the disk may still be written to. On a lost node
   * `onNodeLost` decides. Default: reject with NODE_LOST.
   */
  async waitForDeletion(
    deadlineSeconds: number,
    onNodeLost?: DeletionWaitOptions['whenLost'],
  ): Promise<void> {
    await waitForDeletion(this.#call, {
      nodeName: this.nodeName,
      ...(onNodeLost !== undefined && { whenLost: onNodeLost }),
      reference: attachmentReference(this.#call, this.name),
      uid: this.uid,
      deadlineSeconds,
      what: `the attachment of disk '${this.diskCid}' to VM '${this.vmCid}'`,
    });
  }
}
