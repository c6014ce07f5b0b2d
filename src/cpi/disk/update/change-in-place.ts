import { ProductError } from '../../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../../kubernetes/client/api-error.ts';
import { persistentVolumeClaims, volumeAttributesClasses } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim, VolumeAttributesClass } from '../../../kubernetes/types/storage.ts';
import { waitForObject } from '../../objects/wait-for-object.ts';
import type { CallContext } from '../../call.ts';
import { describeClaim, claimEvents } from '../../objects/describe-pending.ts';
import {
  isReplaced,
  parseBytes,
  hasReachedSize,
  formatMiB,
  requestedBytes,
  diskDeletedError,
  claimReference,
  diskTypeAnnotations,
} from '../disks.ts';
import type { DiskProperties } from '../disk-properties.ts';
import { concurrentChangeError } from './replacement.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import { annotation } from '../../objects/labels.ts';

/**
 * Requests a larger volume and waits until the driver has grown it. Idempotent. Rejects with NOT_SUPPORTED,
 * without changes, if the API refuses; with DISK_UPDATE_FAILED if the driver reports a permanent failure; and
 * with DISK_BUSY if another call has replaced the disk. Model: update.pml
 */
export async function expandVolume(
  call: CallContext,
  claim: PersistentVolumeClaim,
  sizeMiB: number,
): Promise<void> {
  const { name, namespace } = claim.metadata;
  const requested = parseBytes(sizeMiB);
  const reference = { resource: persistentVolumeClaims, namespace, name };
  if (requestedBytes(claim) < requested) await requestSize(call, claim, sizeMiB);
  await waitForObject<PersistentVolumeClaim, true>(call, {
    reference,
    condition: (now) => {
      // the replacement of this disk was made before, and may be smaller
      if (now === undefined || isReplaced(now)) throw concurrentChangeError(claim);
      const state = now.status?.allocatedResourceStatuses?.['storage'] ?? '';
      if (state.endsWith('Infeasible')) throw infeasibleSizeError(now, requested, state);
      return hasReachedSize(now, requested) ? true : undefined;
    },
    awaited: `disk '${name}' to have ${sizeMiB} MiB`,
    deadlineMs: call.config.deadlines.resizeDisk * 1000,
    describeState: () =>
      describeClaim(call, { namespace, name }, 'check that the resizer of its driver runs'),
  });
}

async function requestSize(call: CallContext, claim: PersistentVolumeClaim, sizeMiB: number): Promise<void> {
  const { name, namespace } = claim.metadata;
  const spec = { resources: { requests: { storage: `${sizeMiB}Mi` } } };
  try {
    await call.api.patch({ resource: persistentVolumeClaims, namespace, name }, { spec });
  } catch (error) {
    // the message of admission for a class without allowVolumeExpansion; another 403 is a quota or a role
    if (isApiError(error, 403) && /can be (resized|expanded)/u.test(error.message)) {
      throw new ProductError(
        'NOT_SUPPORTED',
        `disk '${name}' cannot grow: ${error.message}; ${directorFallbackHint}`,
      );
    }
    if (isApiError(error, 404)) throw concurrentChangeError(claim);
    throw error;
  }
}

function infeasibleSizeError(claim: PersistentVolumeClaim, requested: bigint, state: string): ProductError {
  const reason = claimConditionMessage(claim, 'ControllerResizeError') ?? state;
  return new ProductError(
    'DISK_UPDATE_FAILED',
    `disk '${claim.metadata.name}' cannot be made ${formatMiB(requested)}: its driver reports ${reason}; choose a size that it supports`,
  );
}

/**
 * Rejects if a volume of that driver can never have the class: NOT_IMPLEMENTED without the API, NOT_SUPPORTED
 * if the class does not exist or is of another driver. If the role may not read it, the class is accepted.
 * Changes nothing.
 */
export async function checkAttributesClass(
  call: CallContext,
  name: string,
  driver: string | undefined,
): Promise<void> {
  try {
    const found = await call.api.get<VolumeAttributesClass>({ resource: volumeAttributesClasses, name });
    if (driver !== undefined && found.driverName !== driver) {
      throw new ProductError(
        'NOT_SUPPORTED',
        `VolumeAttributesClass "${name}" is of driver ${found.driverName}, the disk's volume of ${driver}; name one of that driver`,
      );
    }
  } catch (error) {
    if (isMissingResource(error)) {
      throw new ProductError(
        'NOT_IMPLEMENTED',
        'the cluster has no VolumeAttributesClasses; leave out volume_attributes_class',
      );
    }
    if (isApiError(error, 404)) {
      throw new ProductError(
        'NOT_SUPPORTED',
        `the cluster has no VolumeAttributesClass "${name}"; create it or correct volume_attributes_class`,
      );
    }
    if (!isApiError(error, 403)) throw error;
  }
}

/**
 * Changes the VolumeAttributesClass of a volume, null for none, and waits until its driver has done it. If
 * the driver reports Infeasible, restores the previous class and rejects with NOT_SUPPORTED. Idempotent.
 */
export async function changeAttributesClass(
  call: CallContext,
  claim: PersistentVolumeClaim,
  requested: string | null,
): Promise<void> {
  const { name, namespace } = claim.metadata;
  const reference = { resource: persistentVolumeClaims, namespace, name };
  await setAttributesClass(call, reference, requested);
  if (requested === null) return;
  const outcome = await waitForObject<
    PersistentVolumeClaim,
    'done' | { readonly reason: string | undefined }
  >(call, {
    reference,
    condition: (now) => {
      if (now === undefined) throw diskDeletedError(name, 'was deleted during this call');
      const { modifyVolumeStatus: state, currentVolumeAttributesClassName: current } = now.status ?? {};
      if (state?.status === 'Infeasible' && state.targetVolumeAttributesClassName === requested) {
        return { reason: claimConditionMessage(now, 'ModifyVolumeError') };
      }
      return current === requested && state === undefined ? 'done' : undefined;
    },
    awaited: `disk '${name}' to have the VolumeAttributesClass ${requested}`,
    deadlineMs: call.config.deadlines.resizeDisk * 1000,
    describeState: () =>
      describeClaim(call, { namespace, name }, 'check that the resizer of its driver runs'),
  });
  if (outcome === 'done') return;
  const reason = outcome.reason ?? (await claimEvents(call, { namespace, name }));
  throw await rollBackAttributesClass(call, {
    claim,
    requested,
    reason: reason === '' ? 'it gave no reason' : reason,
  });
}

interface DriverRejection {
  readonly claim: PersistentVolumeClaim;
  readonly requested: string;
  /** The message of the driver. */
  readonly reason: string;
}

async function rollBackAttributesClass(
  call: CallContext,
  { claim, requested, reason }: DriverRejection,
): Promise<ProductError> {
  const { name, namespace } = claim.metadata;
  const before = claim.status?.currentVolumeAttributesClassName ?? null;
  const why = `the driver of disk '${name}' cannot do VolumeAttributesClass "${requested}": ${reason}`;
  try {
    await setAttributesClass(call, { resource: persistentVolumeClaims, namespace, name }, before);
    return new ProductError('NOT_SUPPORTED', `${why}; ${directorFallbackHint}`);
  } catch (error) {
    // servers before Kubernetes 1.34 do not allow the removal of a class, in effect or not
    if (!isApiError(error, 422)) throw error;
    return new ProductError('DISK_UPDATE_FAILED', `${why}; the roll-back failed: ${error.message}`);
  }
}

async function setAttributesClass(
  call: CallContext,
  reference: ObjectReference,
  requested: string | null,
): Promise<void> {
  await call.api.patch(reference, { spec: { volumeAttributesClassName: requested } });
}

/**
 * Returns why the driver refused. Its resizer writes the reason on the claim together with the refusal, while
 * its event comes later, or never (kubernetes-csi/external-resizer pkg/modifycontroller/modify_status.go).
 * Undefined if it wrote no reason.
 */
export function claimConditionMessage(
  { status }: PersistentVolumeClaim,
  type: 'ModifyVolumeError' | 'ControllerResizeError',
): string | undefined {
  const condition = status?.conditions?.find((one) => one.type === type && one.status === 'True');
  const texts = [condition?.reason, condition?.message].filter((text) => text !== undefined && text !== '');
  return texts.length === 0 ? undefined : texts.join(': ');
}

/**
 * Records on a claim the properties of its disk type for which a claim has no field. Does not write if the
 * record is up to date.
 */
export async function annotateDiskType(
  call: CallContext,
  { metadata: { name, annotations = {} } }: PersistentVolumeClaim,
  properties: DiskProperties,
): Promise<void> {
  const requested = diskTypeAnnotations(properties);
  const keys = [annotation.snapshotClass, annotation.defaultClass];
  if (keys.every((key) => annotations[key] === requested[key])) return;
  const changed = Object.fromEntries(keys.map((key) => [key, requested[key] ?? null]));
  await call.api.patch(claimReference(call, name), { metadata: { annotations: changed } });
}

/**
 * Describes in the message of a NOT_SUPPORTED what a director does after this error of resize_disk and
 * update_disk.
 */
export const directorFallbackHint = 'a director copies it file by file to another disk instead';
