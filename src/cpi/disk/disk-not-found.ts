import { ProductError } from '../../errors/product-error.ts';
import type { CallContext } from '../cloud.ts';
import { diskNamespaceOf } from '../cloud.ts';

const restoreHint =
  'docs/operating.md says how a volume that was kept becomes the disk again whose claim was deleted';

/** Returns the error for a cid that no disk has. */
export function diskNotFoundError(cloud: CallContext, cid: string): ProductError {
  return new ProductError(
    'DISK_NOT_FOUND',
    `there is no disk '${cid}' in namespace ${diskNamespaceOf(cloud)}; if it was made elsewhere, correct ` +
      `kubernetes.namespace or kubernetes.disk_namespace; ${restoreHint}`,
  );
}

/** Returns the error for a disk that is deleted while a call works on it. */
export function diskDeletedError(
  cid: string,
  how: 'is being deleted' | 'was deleted meanwhile',
): ProductError {
  return new ProductError('DISK_NOT_FOUND', `disk '${cid}' ${how}; ${restoreHint}`);
}
