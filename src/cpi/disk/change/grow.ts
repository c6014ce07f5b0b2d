import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { waitFor } from '../../../kubernetes/wait.ts';
import type { CallContext } from '../../cloud.ts';
import { describeClaim } from '../../last-words.ts';
import { isReplaced } from '../claim.ts';
import { parseBytes, hasReachedSize, formatMiB, requestedBytes } from '../claim-size.ts';
import { concurrentChangeError } from './copy-mark.ts';
import { claimConditionMessage } from './driver-words.ts';
import { directorFallbackHint } from './own-way.ts';

/**
 * Requests a larger volume and waits until the driver has grown it. Idempotent. Rejects with NOT_SUPPORTED,
 * without changes, if the API refuses; with DISK_UPDATE_FAILED if the driver reports a permanent failure; and
 * with DISK_BUSY if another call has replaced the disk. Model: update.pml
 */
export async function expandVolume(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
  sizeMiB: number,
): Promise<void> {
  const { name = '', namespace = '' } = claim.metadata;
  const wanted = parseBytes(sizeMiB);
  const reference = { resource: persistentVolumeClaims, namespace, name };
  if (requestedBytes(claim) < wanted) await requestSize(cloud, claim, sizeMiB);
  await waitFor<PersistentVolumeClaim, true>({
    api: cloud.api,
    clock: cloud.clock,
    reference,
    condition: (now) => {
      // the replacement of this disk was made before, and may be smaller
      if (now === undefined || isReplaced(now)) throw concurrentChangeError(claim);
      const state = now.status?.allocatedResourceStatuses?.['storage'] ?? '';
      if (state.endsWith('Infeasible')) throw infeasibleSizeError(now, wanted, state);
      return hasReachedSize(now, wanted) ? true : undefined;
    },
    awaited: `disk '${name}' to have ${sizeMiB} MiB`,
    deadlineMs: cloud.config.deadlines.resizeDisk * 1000,
    lastWords: () => describeClaim(cloud, { namespace, name }, 'see whether the resizer of its driver runs'),
    onProgress: cloud.reportProgress,
  });
}

async function requestSize(cloud: CallContext, claim: PersistentVolumeClaim, sizeMiB: number): Promise<void> {
  const { name = '', namespace = '' } = claim.metadata;
  const spec = { resources: { requests: { storage: `${sizeMiB}Mi` } } };
  try {
    await cloud.api.patch({ resource: persistentVolumeClaims, namespace, name }, { spec });
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

function infeasibleSizeError(claim: PersistentVolumeClaim, wanted: bigint, state: string): ProductError {
  const words = claimConditionMessage(claim, 'ControllerResizeError') ?? state;
  return new ProductError(
    'DISK_UPDATE_FAILED',
    `disk '${claim.metadata.name ?? ''}' cannot be made ${formatMiB(wanted)}: its driver says ${words}; ask for a size that it can do`,
  );
}
