import { join } from 'node:path';
import type { Layout } from './layout.ts';
import { programCache } from './programs/program-cache.ts';
import { RealCluster } from './real-cluster.ts';

/** Returns the cluster of that layout, running or not, with the programs of this checkout's pins. */
export function clusterAt(layout: Layout): RealCluster {
  return new RealCluster(join(programCache(), 'bin'), layout);
}
