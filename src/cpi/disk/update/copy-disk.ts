import { type ReplacementSpec, buildReplacementClaim, matchesSpec } from './replacement-claim.ts';
import { ignoreNotFound } from '../../../kubernetes/api.ts';
import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../../kubernetes/resources.ts';
import {
  type DataSource,
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../kubernetes/types/storage.ts';
import { type WaitStatus } from '../../../kubernetes/client/wait.ts';
import { waitForObject } from '../../objects/wait-for-object.ts';
import type { CallContext } from '../../call.ts';
import { createOrGet, waitForDeletion } from '../../objects/objects.ts';
import { isAdmissionRejection } from '../../errors/explain-forbidden.ts';
import { baseLabels } from '../../objects/labels.ts';
import { takeSnapshot } from '../../snapshot/take-snapshot.ts';
import { waitUntilDetached } from '../detached-disk.ts';
import {
  consumerPod,
  concurrentChangeError,
  replacementName,
  isDiscarded,
  recordReplacement,
  readAgain,
  assertStillPlanned,
  tries,
  copySnapshotName,
  discardReplacement,
  removeHelpers,
  removeProvisionalCopy,
  consumerName,
} from './replacement.ts';
import { finishReplacement } from './finish-replacement.ts';
import { annotateDiskType, directorFallbackHint } from './change-in-place.ts';
import { replaceDisk } from './replace-disk.ts';
import { isReplaced, diskDeletedError } from '../disks.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { describePodAndEvents } from '../../../kubernetes/describe-pod.ts';
import { describeClaim } from '../../objects/describe-pending.ts';

/**
 * Replaces a detached disk by a copy of another class or size, and returns the cid of the replacement
 * (docs/decisions/0010). Order: the disk is marked with the replacement's name; the replacement is made and
 * bound, its helpers removed; the disk's claim records that it is replaced; the replacement stands for it;
 * only then is the old claim deleted. Can be interrupted anywhere and repeated. Returns only if the disk was
 * replaced by this very replacement.
 *
 * Model: update.pml
 */
export async function copyDisk(call: CallContext, order: ReplacementSpec): Promise<string> {
  const { claim, copyName } = await prepareReplacement(call, order);
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  let replaced: PersistentVolumeClaim | undefined;
  try {
    await createReplacement(call, { ...order, claim }, copyName);
    await removeHelpers(call, namespace, copyName);
    replaced = await replaceDisk(call, claim, { copyName, sizeMiB: order.sizeMiB });
  } catch (error) {
    throw await takenBack(call, claim, error);
  }
  if (replaced !== undefined && !(await finishReplacement(call, replaced)))
    throw concurrentChangeError(claim);
  const reference = { resource: persistentVolumeClaims, namespace, name };
  const deadlineSeconds = call.config.deadlines.deleteDisk;
  await waitForDeletion(call, {
    reference,
    uid,
    deadlineSeconds,
    what: `disk '${name}', which was copied,`,
  });
  return copyName;
}

/**
 * Marks the disk with the name of its replacement. Discards what an earlier call made for another request.
 */
async function prepareReplacement(
  call: CallContext,
  order: ReplacementSpec,
): Promise<{ claim: PersistentVolumeClaim; copyName: string }> {
  const { claim } = order;
  const { namespace = '', name = '' } = claim.metadata;
  const previousReplacement = replacementName(claim);
  const copyName = `disk-${call.newUuid()}`;
  const recheck = (now: PersistentVolumeClaim): Promise<void> => waitUntilDetached(call, now, 'updated');
  if (previousReplacement === undefined)
    return { claim: await recordReplacement(call, claim, copyName, recheck), copyName };
  const found = await findClaim(call, namespace, previousReplacement);
  if (!isDiscarded(claim) && (found === undefined || matchesSpec(order, found))) {
    // again, because an attach_disk may have removed the mark and that replacement
    return {
      claim: await recordReplacement(call, claim, previousReplacement, recheck),
      copyName: previousReplacement,
    };
  }
  await discardReplacement(call, claim);
  const unmarked = await findClaim(call, namespace, name);
  if (unmarked === undefined) throw diskDeletedError(name, 'was deleted meanwhile');
  await recheck(unmarked);
  return { claim: await recordReplacement(call, unmarked, copyName, recheck), copyName };
}

async function createReplacement(call: CallContext, order: ReplacementSpec, copyName: string): Promise<void> {
  const { namespace = '' } = order.claim.metadata;
  const dataSource = await dataSourceFor(call, order, copyName);
  // an existing claim was made by an earlier attempt: no other has the name
  await createOrGet(call.api, persistentVolumeClaims, buildReplacementClaim(order, copyName, dataSource));
  // an attach_disk that came before this claim has removed its snapshot, and without that it is never bound
  await assertStillPlanned(call, order.claim, copyName);
  const waits = order.target.volumeBindingMode === 'WaitForFirstConsumer';
  if (waits) await ensureConsumer(call, order.claim, copyName);
  const copy = await waitForObject<PersistentVolumeClaim, PersistentVolumeClaim>(call, {
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
    deadlineMs: call.config.deadlines.updateDisk * 1000,
    describeState: (last) => describeReplacement(call, { namespace, name: copyName, waits }, last),
  });
  // it may be the replacement of a killed call whose type named other classes
  await annotateDiskType(call, copy, order.properties);
}

async function ensureConsumer(
  call: CallContext,
  claim: PersistentVolumeClaim,
  claimName: string,
): Promise<void> {
  const { namespace = '' } = claim.metadata;
  const source = await findVolume(call, claim.spec.volumeName ?? '');
  const pod = consumerPod({ claimName, namespace, source, directorUuid: call.directorUuid });
  try {
    await createOrGet(call.api, pods, pod);
  } catch (error) {
    // a policy of the namespace: the replacement is rolled back, and the director copies the disk itself
    if (isAdmissionRejection(error))
      throw new ProductError('NOT_SUPPORTED', `${error.message}; ${directorFallbackHint}`, { cause: error });
    throw error;
  }
}

async function dataSourceFor(
  call: CallContext,
  order: ReplacementSpec,
  copyName: string,
): Promise<DataSource> {
  const { name: claimName = '', namespace = '' } = order.claim.metadata;
  if (order.snapshotClass === undefined) return { kind: 'PersistentVolumeClaim', name: claimName };
  const name = copySnapshotName(copyName);
  const className = order.snapshotClass;
  const labels = baseLabels(call, 'copy');
  await takeSnapshot(call, { name, namespace, claimName, className, labels, annotations: {} });
  return { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name };
}

async function findClaim(
  call: CallContext,
  namespace: string,
  name: string,
): Promise<PersistentVolumeClaim | undefined> {
  return ignoreNotFound(
    call.api.get<PersistentVolumeClaim>({ resource: persistentVolumeClaims, namespace, name }),
  );
}

/** Undefined if the role may not read volumes: the scheduler then chooses any node for the replacement. */
async function findVolume(call: CallContext, name: string): Promise<PersistentVolume | undefined> {
  try {
    return await call.api.get<PersistentVolume>({ resource: persistentVolumes, name });
  } catch (error) {
    if (isApiError(error, 403) || isApiError(error, 404)) return undefined;
    throw error;
  }
}

/**
 * Rolls the copy back and returns the error to report, after the replacement is deleted and the disk is as
 * before; if this fails, the error reports that, too. No Kubernetes API shows whether a driver can copy. So a
 * driver that cannot is tried until the deadline, and then the director copies the disk itself.
 */
async function takenBack(call: CallContext, claim: PersistentVolumeClaim, error: unknown): Promise<unknown> {
  try {
    if (!(await isTakenBack(call, claim)))
      return isProductError(error, 'DISK_BUSY') || isProductError(error, 'DISK_NOT_FOUND')
        ? error
        : concurrentChangeError(claim);
    if (!isProductError(error, 'DEADLINE')) return error;
    return new ProductError(
      'NOT_SUPPORTED',
      `${error.message}; the copy was taken back, and ${directorFallbackHint}`,
      {
        cause: error,
      },
    );
  } catch (second) {
    if (!isProductError(error) || !(second instanceof Error)) return error;
    return new ProductError(error.code, `${error.message}; taking it back failed: ${second.message}`, {
      cause: error,
    });
  }
}

/**
 * Removes the replacement of a failed call, and its mark on the disk. Returns false if another call has
 * changed the disk: the change may have come before or after this call made the replacement, so this call
 * removes the replacement unless it has taken the disk's place.
 */
async function isTakenBack(call: CallContext, first: PersistentVolumeClaim): Promise<boolean> {
  const copyName = replacementName(first) ?? '';
  for (let left = tries; left > 0; left -= 1) {
    const now = await readAgain(call, first);
    const isNamed = now !== undefined && replacementName(now) === copyName;
    if (isNamed && isReplaced(now)) return false;
    if (!isNamed || now.metadata.deletionTimestamp !== undefined) {
      await removeProvisionalCopy(call, first.metadata.namespace ?? '', copyName);
      return false;
    }
    try {
      await discardReplacement(call, now);
      return true;
    } catch (error) {
      // the disk was changed between this read and the first write
      if (!isProductError(error, 'DISK_BUSY')) throw error;
    }
  }
  throw concurrentChangeError(first);
}

const provisionerHint = 'see whether the provisioner of its driver runs';
const schedulingHint =
  "give room to its pod on a node that reaches the disk's volume and that the copy's storage class serves";

/**
 * Describes why a replacement is not bound: the events of its claim and, if its class waits for a consumer,
 * the state of that pod.
 */
export async function describeReplacement(
  call: CallContext,
  copy: { readonly namespace: string; readonly name: string; readonly waits: boolean },
  last: PersistentVolumeClaim | undefined,
): Promise<WaitStatus> {
  if (!copy.waits) return describeClaim(call, copy, provisionerHint);
  const consumer = { namespace: copy.namespace, name: consumerName(copy.name) };
  const pod = await ignoreNotFound(call.api.get<Pod>({ resource: pods, ...consumer }));
  const words = await describePodAndEvents(call.api, consumer, pod);
  // before that the provisioner does nothing
  const isPlaced = last?.metadata.annotations?.[volumeAnnotations.selectedNode] !== undefined;
  const onClaim = await describeClaim(call, copy, isPlaced ? provisionerHint : schedulingHint);
  return { state: `its pod ${consumer.name}: ${words}; the copy: ${onClaim.state}`, next: onClaim.next };
}
