import type { Stored } from '../../kubernetes/object.ts';
import { type VmSecret, findVm, findVmSecret, ownerUidOf, vmNotFound, withOwner } from './vms.ts';
import type { Container, Pod, SchedulingGate } from '../../kubernetes/types/pod.ts';
import { annotation } from '../objects/labels.ts';
import { isDiskCid, podReference, secretReference } from '../objects/names.ts';
import { hubPath, prepareContainer, vmContainer } from '../objects/layout.ts';
import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { createOrGet, deleteIfUnchanged, patchIfUnchanged, waitForDeletion } from '../objects/objects.ts';
import { waitUntilRunning } from './wait-until-running.ts';

/** The key in the VM's Secret with the desired pod as JSON. It contains nothing secret. */
export const podKey = 'pod.json';
const diskDirectory = `${hubPath}/disks`;
const managedFields = 'bosh.cloudfoundry.org/';
const tries = 10;
/** The gate that keeps a new pod from the scheduler until the VM's record has been read once more. */
const gate = { name: `${managedFields}recorded` };

export const encodePod = (pod: Pod): string => Buffer.from(JSON.stringify(pod), 'utf8').toString('base64');

/** Returns the recorded pod of a VM, owned by that Secret; undefined if there is no record. */
export function recordedPod(secret: Stored<VmSecret>): Pod | undefined {
  const text = secret.data[podKey];
  if (text === undefined) return undefined;
  return withOwner(JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Pod, secret);
}

/** Returns the cids of the disks that are volumes of a VM's pod, in the order of their attachment. */
export function recordedDiskCids({ spec }: Pod): string[] {
  return (spec.volumes ?? [])
    .filter(({ name, persistentVolumeClaim }) => isDiskCid(name) && persistentVolumeClaim?.claimName === name)
    .map(({ name }) => name);
}

/**
 * Returns the pod with exactly those disks. Mounts the disks in the init container too, which creates the
 * folder `store` in each. The disk hint is that folder: if a volume is not mounted, the hint does not exist.
 */
export function withDisks(pod: Pod, cids: readonly string[]): Pod {
  const previous = new Set(recordedDiskCids(pod));
  const mounted = (container: Container, directory: string): Container => ({
    ...container,
    volumeMounts: [
      ...(container.volumeMounts ?? []).filter(({ name }) => !previous.has(name)),
      ...cids.map((cid) => ({ name: cid, mountPath: `${directory}/${cid}` })),
    ],
  });
  const { initContainers, containers, volumes = [] } = pod.spec;
  const each = (list: readonly Container[], name: string, directory: string): Container[] =>
    list.map((container) => (container.name === name ? mounted(container, directory) : container));
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && {
        initContainers: each(initContainers, prepareContainer, '/volumes'),
      }),
      containers: each(containers, vmContainer, diskDirectory),
      volumes: [
        ...volumes.filter(({ name }) => !previous.has(name)),
        ...cids.map((cid) => ({ name: cid, persistentVolumeClaim: { claimName: cid } })),
      ],
    },
  };
}

/**
 * Copies the CPI's labels and annotations of the active pod, which it may have got since its creation, to
 * `pod`. Does not copy those of a CNI plugin.
 */
export function copyMetadata(pod: Pod, active: Pod | undefined): Pod {
  if (active === undefined) return pod;
  const { labels = {}, annotations = {} } = active.metadata;
  const managed = (entries: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(entries).filter(
        ([key]) => key.startsWith(managedFields) && key !== annotation.changedBy,
      ),
    );
  const unmanaged = (entries: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !key.startsWith(managedFields)));
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...unmanaged(pod.metadata.labels), ...managed(labels) },
      annotations: { ...unmanaged(pod.metadata.annotations), ...managed(annotations) },
    },
  };
}

/** True if a repeated create_vm would create the same VM. */
export const isSameDigest = (a: Pod, b: Pod): boolean =>
  a.metadata.annotations?.[annotation.specDigest] === b.metadata.annotations?.[annotation.specDigest];

/** Adds the gate with which the pod is created; `openGate` removes it. */
export const withGate = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, schedulingGates: [gate] } });

export const isGated = ({ spec }: Pod): boolean =>
  (spec.schedulingGates ?? []).some(({ name }) => name === gate.name);

/**
 * Returns the gates of a pod without the CPI's: an admission webhook of the cluster may have added others.
 */
export const otherGates = ({ spec }: Pod): SchedulingGate[] =>
  (spec.schedulingGates ?? []).filter(({ name }) => name !== gate.name);

/**
 * Records in the Secret which disks the VM must have, with the labels and annotations that its pod got since
 * its creation, on exactly the version of the Secret that was read. From then on any call of
 * `reconcileRecordedPod` creates that pod. Returns the Secret as it is now; its version is new even if its
 * disks are the same. Returns undefined, without a write, if the Secret has changed since it was read.
 * Rejects with VM_NOT_FOUND if the VM does not exist anymore. Model: recreate.pml.
 */
export async function recordDisks(
  call: CallContext,
  secret: Stored<VmSecret>,
  pod: Pod | undefined,
  cids: readonly string[],
): Promise<Stored<VmSecret> | undefined> {
  const { name, resourceVersion } = secret.metadata;
  const recorded = recordedPod(secret);
  if (recorded === undefined) throw vmNotFound(call, name);
  const desired = copyMetadata(withDisks(recorded, cids), pod);
  try {
    return await call.api.patch<VmSecret>(secretReference(call, name), {
      metadata: { resourceVersion, annotations: { [annotation.changedBy]: call.newUuid() } },
      data: { [podKey]: encodePod(desired) },
    });
  } catch (error) {
    if (isApiError(error, 404)) throw vmNotFound(call, name);
    if (isApiError(error, 409)) return undefined;
    throw error;
  }
}

/**
 * Creates the recorded pod of the VM and waits until it runs. First deletes a pod with other disks with its
 * normal grace period and waits for its end, because until then its name, its address and its volumes are in
 * use. The scheduler places the new pod. `recorded` is the Secret as just written. The record may change at
 * any time: the pod that is returned has the disks of a record that was read after the pod existed.
 * `deadlineSeconds`: how long a pod may take to end. Idempotent; rejects as `waitUntilRunning` does.
 * Model: recreate.pml.
 */
export async function reconcileRecordedPod(
  call: CallContext,
  vmCid: string,
  { recorded, deadlineSeconds }: { recorded?: Stored<VmSecret>; deadlineSeconds: number },
): Promise<Pod> {
  let desired = recorded === undefined ? undefined : recordedPod(recorded);
  for (let attempts = tries; ; attempts -= 1) {
    const pod = await ensurePod(call, vmCid, { recorded: desired, deadlineSeconds });
    try {
      return await waitUntilRunning(call, pod);
    } catch (error) {
      desired = await readRecordedPod(call, vmCid);
      if (attempts <= 1 || haveSameDisks(pod, desired)) throw error;
    }
  }
}

/** Does what `reconcileRecordedPod` does, without the wait: the pod may not have a node yet. */
export async function ensurePod(
  call: CallContext,
  vmCid: string,
  { recorded, deadlineSeconds }: { recorded?: Pod | undefined; deadlineSeconds: number },
): Promise<Stored<Pod>> {
  let desired = recorded;
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    desired ??= await readRecordedPod(call, vmCid);
    const pod = await tryPod(call, desired, deadlineSeconds);
    if (pod !== undefined) return pod;
    desired = undefined;
  }
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `other calls keep changing the disks of VM '${vmCid}', or its pod; run the call again`,
  );
}

/**
 * Removes the gate of a pod, so that it can start, if the VM's record, read after the pod existed, still
 * matches it. Returns undefined if it does not, or if the pod has changed: the next read decides about it. A
 * call that changes the record looks for the pod after that, and deletes one with other disks, gate or not.
 * So one of the two calls sees the other, and a detached disk is in no pod that starts. Model: recreate.pml.
 */
export async function openGate(call: CallContext, pod: Stored<Pod>): Promise<Stored<Pod> | undefined> {
  if (!isAsRecorded(pod, await readRecordedPod(call, pod.metadata.name))) return undefined;
  return patchIfUnchanged(call, podReference(call, pod.metadata.name), pod, {
    spec: { schedulingGates: otherGates(pod) },
  });
}

/** Reads the recorded pod of the VM. Rejects with VM_NOT_FOUND if there is no record. */
async function readRecordedPod(call: CallContext, vmCid: string): Promise<Pod> {
  const secret = await findVmSecret(call, vmCid);
  const pod = secret === undefined ? undefined : recordedPod(secret);
  if (pod === undefined) throw vmNotFound(call, vmCid);
  return pod;
}

/**
 * Returns the desired pod; undefined if another call changed the record or the pod, so that both must be read
 * again.
 */
async function tryPod(
  call: CallContext,
  desired: Pod,
  deadlineSeconds: number,
): Promise<Stored<Pod> | undefined> {
  const { name } = desired.metadata;
  const existing = await findVm(call, name);
  if (existing !== undefined && isAsRecorded(existing, desired))
    return isGated(existing) ? openGate(call, existing) : renewVersion(call, existing);
  if (existing !== undefined) {
    // this pod may have been created for a later record
    if (!isAsRecorded(desired, await readRecordedPod(call, name))) return undefined;
    if (!(await deletePod(call, existing, deadlineSeconds))) return undefined;
  }
  // set_vm_metadata may have changed the pod after the record was written
  const previous =
    existing !== undefined && ownerUidOf(existing) === ownerUidOf(desired) ? existing : undefined;
  const ensured = await createOrGet(call.api, pods, withGate(copyMetadata(desired, previous)));
  return ensured?.isNew === true ? openGate(call, ensured.object) : undefined;
}

/**
 * Changes the version of a pod that stays: a call that read it under an earlier record and is about to delete
 * it gets a conflict and reads it again.
 */
const renewVersion = (call: CallContext, pod: Stored<Pod>): Promise<Stored<Pod> | undefined> =>
  patchIfUnchanged(call, podReference(call, pod.metadata.name), pod, {
    metadata: { annotations: { [annotation.changedBy]: call.newUuid() } },
  });

function isAsRecorded(pod: Pod, recorded: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    ownerUidOf(pod) === ownerUidOf(recorded) &&
    haveSameDisks(pod, recorded)
  );
}

function haveSameDisks(a: Pod, b: Pod): boolean {
  return process.getBuiltinModule('node:util').isDeepStrictEqual(recordedDiskCids(a), recordedDiskCids(b));
}

/** Deletes the pod. Returns false, without a change, if the pod has changed since it was read. */
async function deletePod(call: CallContext, pod: Stored<Pod>, deadlineSeconds: number): Promise<boolean> {
  const { name, uid, deletionTimestamp } = pod.metadata;
  const reference = podReference(call, name);
  if (deletionTimestamp === undefined && !(await deleteIfUnchanged(call, reference, pod))) return false;
  await waitForDeletion(call, {
    reference,
    uid,
    nodeName: pod.spec.nodeName,
    deadlineSeconds,
    what: `the previous pod of VM '${name}'`,
  });
  return true;
}
