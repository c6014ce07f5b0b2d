import { ProductError } from '../../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../../kubernetes/api-error.ts';
import { volumeSnapshotClasses } from '../../../kubernetes/resources.ts';
import type { VolumeSnapshotClass } from '../../../kubernetes/snapshot.ts';
import type { CallContext } from '../../cloud.ts';
import { noSnapshotApi } from '../../snapshot/snapshot-class.ts';

/**
 * Rejects if no snapshot of a disk of that driver can have the class: NOT_IMPLEMENTED without the API,
 * NOT_SUPPORTED if the class does not exist or is of another driver. If the role may not read it, the class
 * is accepted. Changes nothing.
 */
export async function checkSnapshotClass(
  cloud: CallContext,
  name: string,
  driver: string | undefined,
): Promise<void> {
  try {
    const found = await cloud.api.get<VolumeSnapshotClass>({ resource: volumeSnapshotClasses, name });
    if (driver === undefined || found.driver === driver) return;
  } catch (error) {
    if (isMissingResource(error)) {
      throw new ProductError('NOT_IMPLEMENTED', `${noSnapshotApi}, or leave out snapshot_class`);
    }
    if (isApiError(error, 403)) return;
    if (!isApiError(error, 404)) throw error;
  }
  const whose = driver === undefined ? '' : ` of driver ${driver}`;
  throw new ProductError(
    'NOT_SUPPORTED',
    `the cluster has no VolumeSnapshotClass "${name}"${whose}; create it or correct snapshot_class`,
  );
}
