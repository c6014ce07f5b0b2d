import type { Stored } from '../../../kubernetes/object.ts';
import { label, baseLabels } from '../../objects/labels.ts';
import { type ReplacementSpec, buildReplacementClaim, matchesSpec } from './replacement-claim.ts';
import { ifReadable, ignoreNotFound } from '../../../kubernetes/api.ts';
import { isProductError, ProductError } from '../../../errors/product-error.ts';
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
import { takeSnapshot } from '../../snapshot/take-snapshot.ts';
import { waitUntilDetached } from '../detached-disk.ts';
import {
  concurrentChangeError,
  replacementName,
  isDiscarded,
  recordReplacement,
  rereadClaim,
  assertStillPlanned,
  maxAttempts,
  discardReplacement,
  Replacement,
  consumerName,
} from './replacement.ts';
import { completeReplacement, recordReplaced } from './complete-replacement.ts';
import { annotateDiskType, directorFallbackHint } from './change-in-place.ts';
import { isReplaced, diskDeletedError, claimReference, findClaim } from '../disks.ts';
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
export async function replaceDisk(call: CallContext, spec: ReplacementSpec): Promise<string> {
  const { claim, replacement } = await prepareReplacement(call, spec);
  const { name, uid } = claim.metadata;
  let replaced: Stored<PersistentVolumeClaim> | undefined;
  try {
    await createReplacement(call, { ...spec, claim }, replacement);
    await replacement.removeHelpers();
    replaced = await recordReplaced(call, claim, replacement, spec.sizeMiB);
  } catch (error) {
    throw await rollBack(call, claim, error);
  }
  if (replaced !== undefined && !(await completeReplacement(call, replaced)))
    throw concurrentChangeError(claim);
  await waitForDeletion(call, {
    reference: claimReference(call, name),
    uid,
    deadlineSeconds: call.config.deadlines.deleteDisk,
    what: `disk '${name}', which was copied,`,
  });
  return replacement.cid;
}

/**
 * Marks the disk with the name of its replacement. Discards what an earlier call made for another request.
 */
async function prepareReplacement(
  call: CallContext,
  spec: ReplacementSpec,
): Promise<{ claim: Stored<PersistentVolumeClaim>; replacement: Replacement }> {
  const { claim } = spec;
  const newCid = `disk-${call.newUuid()}`;
  const recheck = (current: PersistentVolumeClaim): Promise<void> =>
    waitUntilDetached(call, current, 'updated');
  const record = async (
    disk: Stored<PersistentVolumeClaim>,
    cid: string,
  ): Promise<{ claim: Stored<PersistentVolumeClaim>; replacement: Replacement }> => ({
    claim: await recordReplacement(call, disk, cid, recheck),
    replacement: new Replacement(call, cid),
  });
  const previousCid = replacementName(claim);
  if (previousCid === undefined) return record(claim, newCid);
  const previous = await new Replacement(call, previousCid).find();
  // the mark is written again, because an attach_disk may have removed it and that replacement
  if (!isDiscarded(claim) && (previous === undefined || matchesSpec(spec, previous)))
    return record(claim, previousCid);
  await discardReplacement(call, claim);
  const { name } = claim.metadata;
  const unmarked = await findClaim(call, name);
  if (unmarked === undefined) throw diskDeletedError(name, 'was deleted during this call');
  await recheck(unmarked);
  return record(unmarked, newCid);
}

async function createReplacement(
  call: CallContext,
  spec: ReplacementSpec,
  replacement: Replacement,
): Promise<void> {
  const { cid } = replacement;
  const dataSource = await createDataSource(call, spec, replacement);
  // an existing claim was made by an earlier attempt: no other has the name
  await createOrGet(call.api, persistentVolumeClaims, buildReplacementClaim(spec, cid, dataSource));
  // an attach_disk that came before this claim has removed its snapshot, and without that it is never bound
  await assertStillPlanned(call, spec.claim, cid);
  const waits = spec.target.volumeBindingMode === 'WaitForFirstConsumer';
  if (waits) await ensureConsumer(call, spec.claim, cid);
  const claim = await waitForObject<PersistentVolumeClaim, PersistentVolumeClaim>(call, {
    reference: claimReference(call, cid),
    condition: (current) => {
      if (current === undefined)
        throw new ProductError(
          'DISK_NOT_FOUND',
          `the copy '${cid}' was deleted during this call; run the call again`,
        );
      return current.status?.phase === 'Bound' ? current : undefined;
    },
    awaited: `the copy '${cid}' of disk '${spec.claim.metadata.name}' to be bound`,
    deadlineMs: call.config.deadlines.updateDisk * 1000,
    describeState: (last) =>
      describeReplacement(call, { namespace: call.diskNamespace, name: cid, waits }, last),
  });
  // it may be the replacement of a killed call whose type named other classes
  await annotateDiskType(call, claim, spec.properties);
}

async function ensureConsumer(
  call: CallContext,
  disk: PersistentVolumeClaim,
  claimName: string,
): Promise<void> {
  const volume = { resource: persistentVolumes, name: disk.spec.volumeName ?? '' };
  // without the volume the scheduler chooses any node for the replacement
  const source = await ifReadable(call.api.get<PersistentVolume>(volume));
  const { diskNamespace: namespace, directorUuid } = call;
  try {
    await createOrGet(call.api, pods, consumerPod({ claimName, namespace, source, directorUuid }));
  } catch (error) {
    // a policy of the namespace: the replacement is rolled back, and the director copies the disk itself
    if (isAdmissionRejection(error))
      throw new ProductError('NOT_SUPPORTED', `${error.message}; ${directorFallbackHint}`, { cause: error });
    throw error;
  }
}

/** Returns the source of the replacement's data: the disk itself, or a snapshot that is taken here. */
async function createDataSource(
  call: CallContext,
  { claim, snapshotClass }: ReplacementSpec,
  { snapshotName: name }: Replacement,
): Promise<DataSource> {
  const { name: claimName, uid } = claim.metadata;
  if (snapshotClass === undefined) return { kind: 'PersistentVolumeClaim', name: claimName };
  const { diskNamespace: namespace } = call;
  const labels = baseLabels(call, 'copy');
  await takeSnapshot(call, {
    ...{ name, namespace, claimName, className: snapshotClass },
    ...{ labels, annotations: {} },
    // If this call is slow, another call may have discarded the replacement, and then no call removes this
    // snapshot.
    owners: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: claimName, uid }],
  });
  return { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name };
}

/**
 * Rolls the copy back and returns the error to report, after the replacement is deleted and the disk is as
 * before; if this fails, the error reports that, too. No Kubernetes API shows whether a driver can copy. So a
 * driver that cannot is tried until the deadline, and then the director copies the disk itself.
 */
async function rollBack(call: CallContext, claim: PersistentVolumeClaim, error: unknown): Promise<unknown> {
  try {
    if (!(await removeReplacement(call, claim)))
      return isProductError(error, 'DISK_BUSY') || isProductError(error, 'DISK_NOT_FOUND')
        ? error
        : concurrentChangeError(claim);
    if (!isProductError(error, 'DEADLINE')) return error;
    return new ProductError(
      'NOT_SUPPORTED',
      `${error.message}; the copy was rolled back, and ${directorFallbackHint}`,
      { cause: error },
    );
  } catch (rollBackError) {
    if (!isProductError(error) || !(rollBackError instanceof Error)) return error;
    return new ProductError(error.code, `${error.message}; the roll-back failed: ${rollBackError.message}`, {
      cause: error,
    });
  }
}

/**
 * Removes the replacement of a failed call, and its mark on the disk. Returns false if another call has
 * changed the disk: the change may have come before or after this call made the replacement, so this call
 * removes the replacement unless it has taken the disk's place.
 */
async function removeReplacement(call: CallContext, first: PersistentVolumeClaim): Promise<boolean> {
  const replacement = new Replacement(call, replacementName(first) ?? '');
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const current = await rereadClaim(call, first);
    const isNamed = current !== undefined && replacementName(current) === replacement.cid;
    if (isNamed && isReplaced(current)) return false;
    if (!isNamed || current.metadata.deletionTimestamp !== undefined) {
      await replacement.deleteIfProvisional();
      return false;
    }
    try {
      await discardReplacement(call, current);
      return true;
    } catch (error) {
      // the disk was changed between this read and the first write
      if (!isProductError(error, 'DISK_BUSY')) throw error;
    }
  }
  throw concurrentChangeError(first);
}

const provisionerHint = 'check that the provisioner of its driver runs';
const schedulingHint =
  "give room to its pod on a node that reaches the disk's volume and that the copy's storage class serves";

/**
 * Describes why a replacement is not bound: the events of its claim and, if its class waits for a consumer,
 * the state of that pod.
 */
async function describeReplacement(
  call: CallContext,
  replacement: { readonly namespace: string; readonly name: string; readonly waits: boolean },
  last: PersistentVolumeClaim | undefined,
): Promise<WaitStatus> {
  if (!replacement.waits) return describeClaim(call, replacement, provisionerHint);
  const consumer = { namespace: replacement.namespace, name: consumerName(replacement.name) };
  const pod = await ignoreNotFound(call.api.get<Pod>({ resource: pods, ...consumer }));
  const podState = await describePodAndEvents(call.api, consumer, pod);
  // before that the provisioner does nothing
  const isPlaced = last?.metadata.annotations?.[volumeAnnotations.selectedNode] !== undefined;
  const onClaim = await describeClaim(call, replacement, isPlaced ? provisionerHint : schedulingHint);
  return { state: `its pod ${consumer.name}: ${podState}; the copy: ${onClaim.state}`, next: onClaim.next };
}

export interface ConsumerPlan {
  readonly claimName: string;
  readonly namespace: string;
  /** The volume that is copied: nodes that can reach it should reach the replacement. */
  readonly source: PersistentVolume | undefined;
  readonly directorUuid: string | undefined;
}

/**
 * Returns the first consumer of a claim that waits for one (KEP-1845 follow-ups: the scheduler chooses a
 * node, the driver then makes the volume there). It need not run, so its image need not exist: it is deleted
 * as soon as the claim is bound.
 */
export function consumerPod({ claimName, namespace, source, directorUuid }: ConsumerPlan): Pod {
  const required = source?.spec.nodeAffinity?.required;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: consumerName(claimName),
      namespace,
      labels: { ...baseLabels({ directorUuid }, 'copy'), [label.diskId]: claimName },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      // The disk's VM may be on any node that reaches the volume, also a cordoned one or one that is tainted
      // for it alone. Tolerating a dead node cannot be avoided: admission (DefaultTolerationSeconds) gives
      // every pod the tolerations of its NoExecute taints anyway. It costs nothing if a provisioner serves
      // the whole cluster; one of that node alone could not copy its volume either.
      tolerations: [{ operator: 'Exists' }],
      ...(required !== undefined && {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      }),
      containers: [
        {
          name: 'bind',
          image: 'registry.k8s.io/pause:3.10',
          resources: { requests: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
        },
      ],
      volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
    },
  };
}
