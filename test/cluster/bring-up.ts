import { fileURLToPath } from 'node:url';
import type { ClusterPaths } from './cluster-paths.ts';
import { buildPrograms } from './programs/build-programs.ts';
import { programCache, clusterPrograms } from './programs/programs.ts';
import { RealCluster } from './real-cluster.ts';
import { assertClusterPossible } from './requirements.ts';
import { printStages } from './progress.ts';
import { fetchSnapshotDefinitions } from './volumes/snapshot-definitions.ts';
import { join, delimiter } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const prepareProgram = fileURLToPath(new URL('prepare-cluster.ts', import.meta.url));

/**
 * Builds missing programs, starts missing processes and waits until both nodes are Ready. New nodes start
 * with the images of `store`.
 */
export async function bringUp(layout: ClusterPaths, store?: string): Promise<RealCluster> {
  assertClusterPossible();
  const stage = printStages(console.error);
  await stage('programs', () => buildPrograms(programCache(), clusterPrograms, console.error));
  const definitions = await fetchSnapshotDefinitions(programCache());
  const cluster = clusterAt(layout);
  await cluster.up(stage, store);
  const code = await enterCluster(cluster, [process.execPath, prepareProgram, definitions]);
  if (code !== 0) throw new Error(`cluster ${layout.name} did not become ready`);
  await stage('volume sidecars', () => cluster.serveVolumes());
  return cluster;
}

/** Returns the cluster of that layout, running or not, with the programs of this checkout's pins. */
export function clusterAt(layout: ClusterPaths): RealCluster {
  return new RealCluster(join(programCache(), 'bin'), layout);
}

/**
 * Runs a command with this process's terminal in a network that reaches the cluster's API server and pods,
 * with KUBECONFIG set and the cluster's kubectl first in PATH. Returns its exit code.
 */
export async function enterCluster(
  cluster: RealCluster,
  command: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<number> {
  const [program = '', ...args] = await cluster.entering(command);
  const child = spawn(program, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${cluster.programs}${delimiter}${process.env['PATH'] ?? ''}`,
      KUBECONFIG: cluster.layout.kubeconfig,
      ...environment,
    },
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
