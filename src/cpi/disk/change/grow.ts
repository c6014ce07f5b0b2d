import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { waitFor } from '../../../kubernetes/wait.ts';
import type { Cloud } from '../../cloud.ts';
import { claimWords } from '../../last-words.ts';
import { isReplaced } from '../claim.ts';
import { bytesOf, hasSize, inMiB, requestedBytes } from '../claim-size.ts';
import { changed } from './copy-mark.ts';
import { driverWords } from './driver-words.ts';
import { ownWay } from './own-way.ts';

/**
 * Asks for a larger volume and waits until the driver has made it. Idempotent. Rejects with NOT_SUPPORTED, nothing changed,
 * where the API refuses, with DISK_UPDATE_FAILED where the driver says that it never will, and with DISK_BUSY if another call has
 * put a copy in the place of the disk.
 */
export async function grow(cloud: Cloud, claim: PersistentVolumeClaim, sizeMiB: number): Promise<void> {
  const { name = '', namespace = '' } = claim.metadata;
  const wanted = bytesOf(sizeMiB);
  const reference = { resource: persistentVolumeClaims, namespace, name };
  if (requestedBytes(claim) < wanted) await ask(cloud, claim, sizeMiB);
  await waitFor<PersistentVolumeClaim, true>({
    api: cloud.api,
    clock: cloud.clock,
    reference,
    condition: (now) => {
      // the copy that stands for a replaced disk was made before, and may be smaller
      if (now === undefined || isReplaced(now)) throw changed(claim);
      const state = now.status?.allocatedResourceStatuses?.['storage'] ?? '';
      if (state.endsWith('Infeasible')) throw infeasible(now, wanted, state);
      return hasSize(now, wanted) ? true : undefined;
    },
    awaited: `disk '${name}' to have ${sizeMiB} MiB`,
    deadlineMs: cloud.config.deadlines.resizeDisk * 1000,
    lastWords: () => claimWords(cloud, { namespace, name }, 'see whether the resizer of its driver runs'),
    say: cloud.say,
  });
}

async function ask(cloud: Cloud, claim: PersistentVolumeClaim, sizeMiB: number): Promise<void> {
  const { name = '', namespace = '' } = claim.metadata;
  const spec = { resources: { requests: { storage: `${sizeMiB}Mi` } } };
  try {
    await cloud.api.patch({ resource: persistentVolumeClaims, namespace, name }, { spec });
  } catch (error) {
    // admission's words for a class without allowVolumeExpansion; another 403 is a quota or a role
    if (isApiError(error, 403) && /can be (resized|expanded)/u.test(error.message)) {
      throw new ProductError('NOT_SUPPORTED', `disk '${name}' cannot grow: ${error.message}; ${ownWay}`);
    }
    if (isApiError(error, 404)) throw changed(claim);
    throw error;
  }
}

function infeasible(claim: PersistentVolumeClaim, wanted: bigint, state: string): ProductError {
  const words = driverWords(claim, 'ControllerResizeError') ?? state;
  return new ProductError(
    'DISK_UPDATE_FAILED',
    `disk '${claim.metadata.name ?? ''}' cannot be made ${inMiB(wanted)}: its driver says ${words}; ask for a size that it can do`,
  );
}
