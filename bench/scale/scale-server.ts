import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import type { ExecRequest, ExecSession } from '../../embedded-cluster/node/pod-console.ts';
import { startSimulatedCluster } from '../../embedded-cluster/testing/simulated-cluster.ts';
import { defaultNodeTimings } from '../../embedded-cluster/controllers/nodes/node-timings.ts';
import { endedSession, HolderConsole } from '../../src/cpi/testing/holder-console.ts';
import { successExit } from '../../src/kubernetes/client/exec.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { addOthers, serveForeignKinds } from './others.ts';

export interface ScaleServer {
  /** The kubeconfig of the cluster's administrator. */
  readonly kubeconfig: string;
  /** Returns the resident memory of the whole cluster in MiB. */
  readonly memory: () => Promise<number>;
  /**
   * Increases the pods, claims, volumes and VolumeAttachments of others to that number; it must not decrease.
   */
  readonly fill: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Starts the embedded cluster with simulated nodes in three zones, in its own process. The suites' console
 * responds for the mount containers, because nothing runs on such nodes.
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
    fill: async (count) => {
      child.send(count);
      await answer();
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
  const console = new RestartingConsole();
  const cluster = await startSimulatedCluster({ nodes, console, timings: defaultNodeTimings });
  const { api } = cluster;
  console.api = api;
  serveForeignKinds(api);
  process.send?.(cluster.kubeconfig);
  let others = 0;
  process.on('message', (message) => {
    if (message === 'memory') {
      process.send?.(Math.round(process.memoryUsage.rss() / 2 ** 20));
      return;
    }
    const to = Number(message);
    void addOthers(api, { from: others, to, nodeCount }).then(() => {
      others = to;
      process.send?.('filled');
    });
  });
  process.once('disconnect', () => void cluster.stop());
}

/** Also responds to reboot_vm: a container that is told to end is followed by another one. */
class RestartingConsole extends HolderConsole {
  api: LocalApi | undefined;

  override async exec(request: ExecRequest): Promise<ExecSession> {
    if (request.command[3] !== 'stop' || this.api === undefined) return super.exec(request);
    const reference = { resource: pods, namespace: request.namespace, name: request.pod };
    const { status } = await this.api.get<Pod>(reference);
    const containerStatuses = status?.containerStatuses?.map((container) => ({
      ...container,
      containerID: `simulated://${randomUUID()}`,
    }));
    await this.api.patch(reference, { status: { containerStatuses } }, { subresource: 'status' });
    return endedSession(successExit);
  }
}

if (import.meta.main) await serve(Number(process.argv[2]));
