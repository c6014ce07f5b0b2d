import { join } from 'node:path';
import { systemClock } from '../../kubernetes/clock.ts';
import type { Clock } from '../../kubernetes/clock.ts';
import { bootstrapCluster } from './bootstrap.ts';
import { allKinds } from './kinds/all-kinds.ts';
import { LocalApi } from './local-api.ts';
import { systemRandom } from './registry/random.ts';
import type { Random } from './registry/random.ts';
import { ObjectStore } from './store/object-store.ts';

export interface LocalApiOptions {
  /** The cluster's directory; the objects are in its `journal/`. */
  readonly directory: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** How many changes a watch can look back, at least. */
  readonly historySize?: number;
}

/**
 * Opens the objects of a cluster, new or as an earlier process left them, with namespaces and StorageClass in place.
 * One process at a time: two would write one journal. Close it with `close()`.
 * Rejects with ProductError CLUSTER_JOURNAL_CORRUPT for a damaged journal.
 */
export async function openLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const { directory, clock = systemClock, random = systemRandom, historySize } = options;
  const file = join(directory, 'journal', 'objects.journal');
  const store = ObjectStore.open({ file, ...(historySize === undefined ? {} : { historySize }) });
  const api = new LocalApi({ store, kinds: allKinds, clock, random });
  await bootstrapCluster(api);
  return api;
}
