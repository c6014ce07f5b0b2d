import { ifThere } from '../../../kubernetes/if-there.ts';
import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../../kubernetes/resources.ts';
import type { DataSource, PersistentVolume, PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { waitFor } from '../../../kubernetes/wait.ts';
import type { Cloud } from '../../cloud.ts';
import { createUnlessThere } from '../../create-unless-there.ts';
import { isNotAdmitted } from '../../failure/forbidden.ts';
import { baseLabels } from '../../labels.ts';
import { waitUntilGone } from '../../remove-object.ts';
import { takeSnapshot } from '../../snapshot/take-snapshot.ts';
import { waitUntilDetached } from '../detached-disk.ts';
import { consumerPod } from './consumer-pod.ts';
import type { CopyOrder } from './copy-claim.ts';
import { copyClaim, isCopyAsked } from './copy-claim.ts';
import { changed, copyOf, isDropping, markCopy, readAgain, requireMarked, tries } from './copy-mark.ts';
import { copyWords } from './copy-words.ts';
import { copySnapshotName, dropCopy, removeHelpers, removeProvisionalCopy } from './drop-copy.ts';
import { finishReplacement } from './finish-replacement.ts';
import { noteType } from './note-type.ts';
import { ownWay } from './own-way.ts';
import { replaceDisk } from './replace-disk.ts';
import { isReplaced } from '../claim.ts';
import { diskGone } from '../disk-not-found.ts';

/**
 * Puts a copy of another class or size in the place of a detached disk, and resolves with its cid (docs/decisions/0010). The
 * disk is marked with the copy's name, the copy made and bound, its helpers removed; then the disk's claim says that it is replaced,
 * the copy stands for it, and only then the disk is deleted. Killed anywhere and called again it goes on. Resolves only if the
 * disk was replaced by this very copy.
 *
 * Model: update.pml
 */
export async function copyDisk(cloud: Cloud, order: CopyOrder): Promise<string> {
  const { claim, copyName } = await marked(cloud, order);
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  let replaced: PersistentVolumeClaim | undefined;
  try {
    await make(cloud, { ...order, claim }, copyName);
    await removeHelpers(cloud, namespace, copyName);
    replaced = await replaceDisk(cloud, claim, { copyName, sizeMiB: order.sizeMiB });
  } catch (error) {
    throw await takenBack(cloud, claim, error);
  }
  if (replaced !== undefined && !(await finishReplacement(cloud, replaced))) throw changed(claim);
  const reference = { resource: persistentVolumeClaims, namespace, name };
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  await waitUntilGone(cloud, { reference, uid, deadlineSeconds, what: `disk '${name}', which was copied,` });
  return copyName;
}

/** The disk with the name of its copy on it; what an earlier call made of other wishes is gone. */
async function marked(
  cloud: Cloud,
  order: CopyOrder,
): Promise<{ claim: PersistentVolumeClaim; copyName: string }> {
  const { claim } = order;
  const { namespace = '', name = '' } = claim.metadata;
  const former = copyOf(claim);
  const copyName = `disk-${cloud.newUuid()}`;
  const look = (now: PersistentVolumeClaim): Promise<void> => waitUntilDetached(cloud, now, 'updated');
  if (former === undefined) return { claim: await markCopy(cloud, claim, copyName, look), copyName };
  const found = await findClaim(cloud, namespace, former);
  if (!isDropping(claim) && (found === undefined || isCopyAsked(order, found))) {
    // once more: an attach_disk may have taken the mark and that copy away
    return { claim: await markCopy(cloud, claim, former, look), copyName: former };
  }
  await dropCopy(cloud, claim);
  const unmarked = await findClaim(cloud, namespace, name);
  if (unmarked === undefined) throw diskGone(name, 'was deleted meanwhile');
  await look(unmarked);
  return { claim: await markCopy(cloud, unmarked, copyName, look), copyName };
}

async function make(cloud: Cloud, order: CopyOrder, copyName: string): Promise<void> {
  const { namespace = '' } = order.claim.metadata;
  const dataSource = await sourceOf(cloud, order, copyName);
  // what is there already was made by an earlier try: only such a one has the name
  await createUnlessThere(cloud.api, persistentVolumeClaims, copyClaim(order, copyName, dataSource));
  // an attach_disk that came before this claim took its snapshot away, and without that it is never bound
  await requireMarked(cloud, order.claim, copyName);
  const waits = order.target.volumeBindingMode === 'WaitForFirstConsumer';
  if (waits) await ensureConsumer(cloud, order.claim, copyName);
  const copy = await waitFor<PersistentVolumeClaim, PersistentVolumeClaim>({
    api: cloud.api,
    clock: cloud.clock,
    reference: { resource: persistentVolumeClaims, namespace, name: copyName },
    condition: (now) => {
      if (now === undefined)
        throw new ProductError(
          'DISK_NOT_FOUND',
          `the copy '${copyName}' was deleted meanwhile; run the call again`,
        );
      return now.status?.phase === 'Bound' ? now : undefined;
    },
    awaited: `the copy '${copyName}' of disk '${order.claim.metadata.name ?? ''}' to be bound`,
    deadlineMs: cloud.config.deadlines.updateDisk * 1000,
    lastWords: (last) => copyWords(cloud, { namespace, name: copyName, waits }, last),
    say: cloud.say,
  });
  // it may be that of a killed call, whose type named other classes
  await noteType(cloud, copy, order.properties);
}

async function ensureConsumer(cloud: Cloud, claim: PersistentVolumeClaim, claimName: string): Promise<void> {
  const { namespace = '' } = claim.metadata;
  const source = await findVolume(cloud, claim.spec.volumeName ?? '');
  const pod = consumerPod({ claimName, namespace, source, directorUuid: cloud.directorUuid });
  try {
    await createUnlessThere(cloud.api, pods, pod);
  } catch (error) {
    // a policy of the namespace: the copy is taken back, and the director has its own way
    if (isNotAdmitted(error))
      throw new ProductError('NOT_SUPPORTED', `${error.message}; ${ownWay}`, { cause: error });
    throw error;
  }
}

async function sourceOf(cloud: Cloud, order: CopyOrder, copyName: string): Promise<DataSource> {
  const { name: claimName = '', namespace = '' } = order.claim.metadata;
  if (order.snapshotClass === undefined) return { kind: 'PersistentVolumeClaim', name: claimName };
  const name = copySnapshotName(copyName);
  const className = order.snapshotClass;
  const labels = baseLabels('copy', cloud.directorUuid);
  await takeSnapshot(cloud, { name, namespace, claimName, className, labels, annotations: {} });
  return { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name };
}

async function findClaim(
  cloud: Cloud,
  namespace: string,
  name: string,
): Promise<PersistentVolumeClaim | undefined> {
  return ifThere(cloud.api.get<PersistentVolumeClaim>({ resource: persistentVolumeClaims, namespace, name }));
}

/** Undefined where the role may not read volumes: the copy is then made wherever the scheduler likes. */
async function findVolume(cloud: Cloud, name: string): Promise<PersistentVolume | undefined> {
  try {
    return await cloud.api.get<PersistentVolume>({ resource: persistentVolumes, name });
  } catch (error) {
    if (isApiError(error, 403) || isApiError(error, 404)) return undefined;
    throw error;
  }
}

/**
 * The error to report, after the copy is gone and the disk as before; if it does not go, the error says that too. Nothing in
 * Kubernetes tells whether a driver can copy: one that cannot is tried until the deadline, and then the director has its own way.
 */
async function takenBack(cloud: Cloud, claim: PersistentVolumeClaim, error: unknown): Promise<unknown> {
  try {
    if (!(await isTakenBack(cloud, claim)))
      return isProductError(error, 'DISK_BUSY') || isProductError(error, 'DISK_NOT_FOUND')
        ? error
        : changed(claim);
    if (!isProductError(error, 'DEADLINE')) return error;
    return new ProductError('NOT_SUPPORTED', `${error.message}; the copy was taken back, and ${ownWay}`, {
      cause: error,
    });
  } catch (second) {
    if (!isProductError(error) || !(second instanceof Error)) return error;
    return new ProductError(error.code, `${error.message}; taking it back failed: ${second.message}`, {
      cause: error,
    });
  }
}

/**
 * Removes the copy of a call that failed, and the disk's mark of it. False if another call has come between: what that did may be
 * before or after this call made the copy, so this call removes it, unless it has taken the disk's place.
 */
async function isTakenBack(cloud: Cloud, first: PersistentVolumeClaim): Promise<boolean> {
  const copyName = copyOf(first) ?? '';
  for (let left = tries; left > 0; left -= 1) {
    const now = await readAgain(cloud, first);
    const isNamed = now !== undefined && copyOf(now) === copyName;
    if (isNamed && isReplaced(now)) return false;
    if (!isNamed || now.metadata.deletionTimestamp !== undefined) {
      await removeProvisionalCopy(cloud, first.metadata.namespace ?? '', copyName);
      return false;
    }
    try {
      await dropCopy(cloud, now);
      return true;
    } catch (error) {
      // the disk was changed between this look and the first write
      if (!isProductError(error, 'DISK_BUSY')) throw error;
    }
  }
  throw changed(first);
}
