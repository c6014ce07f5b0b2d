import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startSimulatedCluster } from '../../src/cluster/testing/simulated-cluster.ts';
import { defaultNodeTimings } from '../../src/cluster/controllers/nodes/node-timings.ts';
import { HolderConsole } from '../../src/cpi/testing/holder-console.ts';

export interface ScaleServer {
  /** Of the cluster's administrator. */
  readonly kubeconfig: string;
  /** MiB that the whole cluster has resident now. */
  readonly memory: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/**
 * The embedded cluster with simulated nodes in three zones, in a process of its own. The console of the suites answers
 * for the holders of attachments, since nothing runs on such nodes.
 */
export async function startScaleServer(nodeCount: number): Promise<ScaleServer> {
  const child = fork(fileURLToPath(import.meta.url), [String(nodeCount)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const [message] = (await Promise.race([
      once(child, 'message'),
      ended.then(() => Promise.reject(new Error('the cluster of the benchmark ended'))),
    ])) as [unknown];
    return message;
  };
  const kubeconfig = String(await answer());
  return {
    kubeconfig,
    memory: async () => {
      child.send('memory');
      return Number(await answer());
    },
    close: async () => {
      child.disconnect();
      await ended;
    },
  };
}

async function serve(nodeCount: number): Promise<void> {
  const nodes = Array.from({ length: nodeCount }, (_, index) => ({
    name: `sim-${index + 1}`,
    zone: `z${(index % 3) + 1}`,
  }));
  const console = new HolderConsole();
  const cluster = await startSimulatedCluster({ nodes, console, timings: defaultNodeTimings });
  process.send?.(cluster.kubeconfig);
  process.on('message', () => process.send?.(Math.round(process.memoryUsage.rss() / 2 ** 20)));
  process.once('disconnect', () => void cluster.stop());
}

if (import.meta.main) await serve(Number(process.argv[2]));
