import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/platform/clock.ts';
import type { LocalApi } from '../api-server/local-api.ts';
import { openLocalApi } from '../api-server/open-local-api.ts';
import { startApiServer } from '../api-server/start-api-server.ts';
import type { NodeTimings } from '../controllers/nodes/node-timings.ts';
import { startControllers } from '../controllers/start-controllers.ts';
import { FakeProvisioner } from '../controllers/testing/cluster-fixture.ts';
import type { NodeArgument } from '../node/parse-node.ts';
import type { PodConsole } from '../node/pod-console.ts';
import { SimulatedNodes } from '../node/simulated/simulated-nodes.ts';

export interface SimulatedClusterOptions {
  readonly nodes: readonly NodeArgument[];
  /** Serves exec and logs of pods; absent: requests fail, because no container runs. */
  readonly console?: PodConsole;
  /**
   * Milliseconds. Absent: a node without a heartbeat for a second counts as lost, so that suites need not
   * wait.
   */
  readonly timings?: NodeTimings;
}

/** A cluster without root, processes or mounts: API over TLS, all controllers, simulated nodes. */
export interface SimulatedCluster {
  readonly api: LocalApi;
  readonly nodes: SimulatedNodes;
  /** The administrator's kubeconfig, as text. */
  readonly kubeconfig: string;
  /** The internal errors of the cluster. */
  readonly errors: unknown[];
  stop(): Promise<void>;
}

const quick: NodeTimings = { grace: 1000, quarantine: 500 };

export async function startSimulatedCluster(options: SimulatedClusterOptions): Promise<SimulatedCluster> {
  const { timings = quick } = options;
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-simulated-'));
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const api = await openLocalApi({ directory });
  const nodes = new SimulatedNodes({
    ...{ api, nodes: options.nodes, clock: systemClock, onError, heartbeat: timings.grace / 5 },
    ...(options.console !== undefined && { console: options.console }),
  });
  await nodes.start();
  const controllers = await startControllers({
    ...{ api, provisioner: new FakeProvisioner(), clock: systemClock, random: Math.random, onError },
    nodeTimings: timings,
  });
  const server = await startApiServer({ api, console: nodes, directory, onError });
  return {
    ...{ api, nodes, errors },
    kubeconfig: await readFile(server.kubeconfig, 'utf8'),
    stop: async () => {
      await controllers.stop();
      await nodes.stop();
      await server.close();
      await api.close();
      await rm(directory, { recursive: true });
    },
  };
}
