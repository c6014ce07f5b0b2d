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
 * Asks for a larger volume and waits until the driver has made it. Idempotent. Rejects with NOT_SUPPORTED, nothing changed,
 * where the API refuses, with DISK_UPDATE_FAILED where the driver says that it never will, and with DISK_BUSY if another call has
 * put a copy in the place of the disk. Model: update.pml
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
      // the copy that stands for a replaced disk was made before, and may be smaller
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
    // admission's words for a class without allowVolumeExpansion; another 403 is a quota or a role
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
