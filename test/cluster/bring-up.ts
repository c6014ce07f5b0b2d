import { fileURLToPath } from 'node:url';
import { clusterAt } from './cluster-at.ts';
import { enter } from './enter.ts';
import type { Layout } from './layout.ts';
import { buildPrograms } from './programs/build-programs.ts';
import { programCache } from './programs/program-cache.ts';
import { clusterPrograms } from './programs/programs.ts';
import type { RealCluster } from './real-cluster.ts';
import { assertClusterPossible } from './requirements.ts';
import { printingStages } from './stages.ts';
import { fetchSnapshotDefinitions } from './volumes/snapshot-definitions.ts';

const settle = fileURLToPath(new URL('settle.ts', import.meta.url));

/**
 * Builds missing programs, starts missing processes and waits until both nodes are Ready. New nodes start
 * with the images of `store`.
 */
export async function bringUp(layout: Layout, store?: string): Promise<RealCluster> {
  assertClusterPossible();
  const stage = printingStages(console.error);
  await stage('programs', () => buildPrograms(programCache(), clusterPrograms, console.error));
  const definitions = await fetchSnapshotDefinitions(programCache());
  const cluster = clusterAt(layout);
  await cluster.up(stage, store);
  const code = await enter(cluster, [process.execPath, settle, definitions]);
  if (code !== 0) throw new Error(`cluster ${layout.name} did not become ready`);
  await stage('volume sidecars', () => cluster.serveVolumes());
  return cluster;
}
