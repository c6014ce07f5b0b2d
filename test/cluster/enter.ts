import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import type { RealCluster } from './real-cluster.ts';

/**
 * Runs a command with this process's terminal in a network that reaches the cluster's API server and pods,
 * with KUBECONFIG set and the cluster's kubectl first in PATH. Returns its exit code.
 */
export async function enter(
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
