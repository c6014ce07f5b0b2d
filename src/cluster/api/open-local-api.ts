import { join } from 'node:path';
import { systemClock } from '../../kubernetes/clock.ts';
import type { Clock } from '../../kubernetes/clock.ts';
import { bootstrapCluster } from './bootstrap.ts';
import { groupResource } from './errors/status-errors.ts';
import { allKinds } from './kinds/all-kinds.ts';
import type { Kind } from './kinds/kind.ts';
import { LocalApi } from './local-api.ts';
import { systemRandom } from './registry/random.ts';
import { ObjectStore } from './store/object-store.ts';
import { loadTokenKey } from './tokens/token-key.ts';

export interface LocalApiOptions {
  /** The cluster's directory; the objects are in its `journal/`. */
  readonly directory: string;
  readonly clock?: Clock;
  /** How many changes of the last five minutes a watch can look back, at least. */
  readonly historySize?: number;
  /** Served beside the cluster's own, for tests: their objects are kept, and nobody here acts on them. */
  readonly moreKinds?: readonly Kind[];
}

/**
 * Opens the objects of a cluster, new or as an earlier process left them, with namespaces and StorageClass in place.
 * One process at a time: two would write one journal. Close it with `close()`.
 * Rejects with ProductError CLUSTER_JOURNAL_CORRUPT for a damaged journal.
 */
export async function openLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const { directory, clock = systemClock, historySize, moreKinds = [] } = options;
  const file = join(directory, 'journal', 'objects.journal');
  const store = ObjectStore.open({
    ...{ file, now: () => clock.now() },
    ...(historySize === undefined ? {} : { historySize }),
  });
  const more = moreKinds.map((kind) => [groupResource(kind.resource), kind] as const);
  const kinds = new Map([...allKinds, ...more]);
  const registry = { store, kinds, clock, random: systemRandom, tokenKey: loadTokenKey(directory) };
  const api = new LocalApi(registry);
  await bootstrapCluster(api);
  return api;
}
