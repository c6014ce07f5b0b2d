import { after, before, describe } from 'node:test';
import { ClusterWorld } from './cluster-world.ts';
import { askedCluster, openCluster } from './open-cluster.ts';

/**
 * Registers a suite on the real cluster with its own namespace. Its tests run one by one unless `concurrency`
 * is set. The suite is skipped if there is no cluster.
 */
export function describeCluster(
  name: string,
  define: (world: () => ClusterWorld) => void,
  { concurrency = 1 }: { readonly concurrency?: number } = {},
): void {
  const requested = askedCluster();
  describe(name, { concurrency, skip: requested.kind === 'none' && requested.reason }, () => {
    let world: ClusterWorld | undefined;
    before(async () => {
      world = await ClusterWorld.open(await openCluster(requested));
    });
    after(() => world?.close());
    define(() => {
      if (world === undefined) throw new Error('the suite has not begun');
      return world;
    });
  });
}
