import type { CallContext } from '../cpi/call.ts';
import { label } from '../cpi/objects/labels.ts';
import { deleteIfUnchanged, waitForDeletion } from '../cpi/objects/objects.ts';
import { type VmState, removeUnfinished, whyKept } from '../cpi/vm/unfinished-vm.ts';
import { type ObjectReference, ignoreNotFound } from '../kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../kubernetes/resources.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import type { Orphan } from './find-orphans.ts';
import { type DeletableOrphan, whyDiskKept } from './judge-orphan.ts';

/**
 * Deletes an orphan that was shown not to be in use, if it is still exactly the object that was shown.
 * Returns why it stays, or undefined if it was deleted or did not exist any more. A call that is killed has
 * deleted some orphans, and the next one lists the others. The deletion of a VM is that of
 * src/cpi/vm/unfinished-vm.ts: a create_vm that still runs fails, or has completed the VM, which then stays.
 */
export function deleteOrphan(call: CallContext, orphan: DeletableOrphan): Promise<string | undefined> {
  switch (orphan.what) {
    case 'VM':
      return deleteUnfinishedVm(call, orphan);
    case 'disk':
      return deleteUnclaimedDisk(call, orphan);
    case 'snapshot':
      return deleteSnapshot(call, orphan);
    default:
      return orphan.what satisfies never;
  }
}

function deleteUnfinishedVm(call: CallContext, { name, object }: Orphan): Promise<string | undefined> {
  const { uid, resourceVersion } = object.metadata;
  let isFirst = true;
  const why = (state: VmState): string | undefined => {
    const secret = state.secret?.metadata;
    if (secret === undefined) return undefined;
    // The next read comes after our own write, which marks the VM as abandoned.
    const isChanged = isFirst && secret.resourceVersion !== resourceVersion;
    isFirst = false;
    return secret.uid !== uid || isChanged ? changed : whyKept(state);
  };
  return removeUnfinished(call, name, why);
}

/**
 * Reads the claim before the pods, and deletes exactly the version that was read: an attach_disk writes to
 * the claim after it has created its attachment pod, so either the pod is found, or the deletion fails.
 */
async function deleteUnclaimedDisk(call: CallContext, orphan: Orphan): Promise<string | undefined> {
  const reference = { resource: persistentVolumeClaims, namespace: call.diskNamespace, name: orphan.name };
  const claim = await readUnchanged(call, reference, orphan);
  if (claim === 'deleted') return undefined;
  if (claim === 'changed') return changed;
  const kept = whyDiskKept(claim);
  if (kept !== undefined) return kept;
  const user = (await call.api.list<Pod>(pods, { namespace: call.diskNamespace })).items.find(
    (pod) => pod.metadata.labels?.[label.diskId] === orphan.name || mounts(pod, orphan.name),
  );
  if (user !== undefined) return `pod '${user.metadata.name}' uses it`;
  return deleteAndWait(call, reference, claim);
}

const mounts = ({ spec }: Pod, claim: string): boolean =>
  (spec.volumes ?? []).some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim);

async function deleteSnapshot(call: CallContext, orphan: Orphan): Promise<string | undefined> {
  const reference = { resource: volumeSnapshots, namespace: call.diskNamespace, name: orphan.name };
  const snapshot = await readUnchanged(call, reference, orphan);
  if (snapshot === 'deleted') return undefined;
  if (snapshot === 'changed') return changed;
  return deleteAndWait(call, reference, snapshot);
}

/** Rejects with DEADLINE if the object still exists after the deadline of delete_disk. */
async function deleteAndWait(
  call: CallContext,
  reference: ObjectReference,
  object: Stored<KubernetesObject>,
): Promise<string | undefined> {
  if (!(await deleteIfUnchanged(call, reference, object))) return changed;
  const deadlineSeconds = call.config.deadlines.deleteDisk;
  await waitForDeletion(call, {
    ...{ reference, uid: object.metadata.uid, deadlineSeconds, what: `'${reference.name}'` },
  });
  return undefined;
}

const changed = 'it has changed since it was listed';

/** Reads the object again; `changed` if it is not exactly the one that was shown. */
async function readUnchanged(call: CallContext, reference: ObjectReference, { object }: Orphan) {
  const current = await ignoreNotFound(call.api.get<KubernetesObject>(reference));
  if (current === undefined || current.metadata.uid !== object.metadata.uid) return 'deleted';
  return current.metadata.resourceVersion === object.metadata.resourceVersion ? current : 'changed';
}
