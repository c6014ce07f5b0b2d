import { ProductError } from '../../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../../kubernetes/api-error.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import { persistentVolumeClaims, volumeAttributesClasses } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim, VolumeAttributesClass } from '../../../kubernetes/volume.ts';
import { waitFor } from '../../../kubernetes/wait.ts';
import type { CallContext } from '../../cloud.ts';
import { claimEvents, describeClaim } from '../../last-words.ts';
import { claimConditionMessage } from './driver-words.ts';
import { directorFallbackHint } from './own-way.ts';
import { diskDeletedError } from '../disk-not-found.ts';

/**
 * Rejects if a volume of that driver can never have the class: NOT_IMPLEMENTED without the API, NOT_SUPPORTED
 * if the class does not exist or is of another driver. If the role may not read it, the class is accepted.
 * Changes nothing.
 */
export async function checkAttributesClass(
  cloud: CallContext,
  name: string,
  driver: string | undefined,
): Promise<void> {
  try {
    const found = await cloud.api.get<VolumeAttributesClass>({ resource: volumeAttributesClasses, name });
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
  cloud: CallContext,
  claim: PersistentVolumeClaim,
  wanted: string | null,
): Promise<void> {
  const { name = '', namespace = '' } = claim.metadata;
  const reference = { resource: persistentVolumeClaims, namespace, name };
  await setAttributesClass(cloud, reference, wanted);
  if (wanted === null) return;
  const outcome = await waitFor<PersistentVolumeClaim, 'done' | { readonly words: string | undefined }>({
    api: cloud.api,
    clock: cloud.clock,
    reference,
    condition: (now) => {
      if (now === undefined) throw diskDeletedError(name, 'was deleted meanwhile');
      const { modifyVolumeStatus: state, currentVolumeAttributesClassName: current } = now.status ?? {};
      if (state?.status === 'Infeasible' && state.targetVolumeAttributesClassName === wanted) {
        return { words: claimConditionMessage(now, 'ModifyVolumeError') };
      }
      return current === wanted && state === undefined ? 'done' : undefined;
    },
    awaited: `disk '${name}' to have the VolumeAttributesClass ${wanted}`,
    deadlineMs: cloud.config.deadlines.resizeDisk * 1000,
    lastWords: () => describeClaim(cloud, { namespace, name }, 'see whether the resizer of its driver runs'),
    onProgress: cloud.reportProgress,
  });
  if (outcome === 'done') return;
  const words = outcome.words ?? (await claimEvents(cloud, { namespace, name }));
  throw await takenBack(cloud, { claim, wanted, words: words === '' ? 'it gave no reason' : words });
}

interface DriverRejection {
  readonly claim: PersistentVolumeClaim;
  readonly wanted: string;
  /** The message of the driver. */
  readonly words: string;
}

async function takenBack(
  cloud: CallContext,
  { claim, wanted, words }: DriverRejection,
): Promise<ProductError> {
  const { name = '', namespace = '' } = claim.metadata;
  const before = claim.status?.currentVolumeAttributesClassName ?? null;
  const why = `the driver of disk '${name}' cannot do VolumeAttributesClass "${wanted}": ${words}`;
  try {
    await setAttributesClass(cloud, { resource: persistentVolumeClaims, namespace, name }, before);
    return new ProductError('NOT_SUPPORTED', `${why}; ${directorFallbackHint}`);
  } catch (error) {
    // servers before Kubernetes 1.34 do not allow the removal of a class, in effect or not
    if (!isApiError(error, 422)) throw error;
    return new ProductError('DISK_UPDATE_FAILED', `${why}; taking it back failed: ${error.message}`);
  }
}

async function setAttributesClass(
  cloud: CallContext,
  reference: ObjectReference,
  wanted: string | null,
): Promise<void> {
  await cloud.api.patch(reference, { spec: { volumeAttributesClassName: wanted } });
}
