import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import { bootstrapCluster } from './bootstrap.ts';
import { groupResource } from './errors/status-errors.ts';
import { allKinds } from './kinds/all-kinds.ts';
import type { Kind } from './kinds/kind.ts';
import { LocalApi } from './local-api.ts';
import { systemRandom } from './registry/random.ts';
import { ObjectStore } from './store/object-store.ts';
import { loadTokenKey } from './tokens/token-key.ts';

export interface LocalApiOptions {
  /** The cluster's directory. Its `journal/` contains the objects. */
  readonly directory: string;
  readonly clock?: Clock;
  /** The minimum number of changes, of the last five minutes, that a watch can start from. */
  readonly historySize?: number;
  /**
   * Kinds that are served in addition to the cluster's, for tests. Their objects are stored, and nothing here
   * acts on them.
   */
  readonly moreKinds?: readonly Kind[];
}

/**
 * Opens the objects of a cluster, new or from an earlier process, and creates namespaces and StorageClass if
 * they are missing. Only one process may do so at a time: two would write one journal. The caller must call
 * `close()`. Rejects with ProductError CLUSTER_JOURNAL_CORRUPT for a damaged journal.
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
