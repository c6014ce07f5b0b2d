import { successExit } from '../../kubernetes/client/exec.ts';
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { NodeArgument } from '../../../embedded-cluster/node/parse-node.ts';
import {
  type SimulatedCluster,
  startSimulatedCluster,
} from '../../../embedded-cluster/testing/simulated-cluster.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { systemClock } from '../../platform/clock.ts';
import { persistentVolumes } from '../../kubernetes/resources.ts';
import type { PersistentVolume } from '../../kubernetes/types/storage.ts';
import type { CallContext, ExecCommand, ExecResult } from '../call.ts';
import { parseConfig } from '../config/config.ts';
import { HolderConsole } from './holder-console.ts';
import { namespace } from './test-cloud.ts';

export interface SimulatedWorld {
  readonly cluster: SimulatedCluster;
  readonly cloud: CallContext;
  /** Adds a static volume of 1 GiB with the class "", reachable in that zone only, or from every node. */
  addVolume(zone?: string): Promise<void>;
}

const deadlines = {
  ...{ schedule: 5, sandbox: 1, create_vm: 20, delete_vm: 20, attach_disk: 20, release: 1 },
  ...{ detach_disk: 20, delete_disk: 20, lost_node: 1 },
};

/**
 * Starts the CPI methods on a cluster of simulated nodes that can be lost: `sim-1` in zone z1, `sim-2` in z2
 * and so on.
 */
export async function startSimulatedWorld(
  t: TestContext,
  nodeCount = 2,
  config: object = {},
): Promise<SimulatedWorld> {
  const console = new HolderConsole();
  const nodes: NodeArgument[] = Array.from({ length: nodeCount }, (_, index) => ({
    name: `sim-${index + 1}`,
    zone: `z${index + 1}`,
  }));
  const cluster = await startSimulatedCluster({ nodes, console });
  t.after(() => cluster.stop());
  const cloud = simulatedCloud(cluster, cluster.api, { deadlines, ...config });
  return { cluster, cloud, addVolume: (zone) => addVolume(cluster, zone) };
}

/** Returns a CallContext that uses this client of the cluster's API. */
function simulatedCloud(cluster: SimulatedCluster, api: KubernetesApi, config: object): CallContext {
  return {
    api,
    exec: (command) => exec(cluster, command),
    config: parseConfig({ agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' }, ...config }, {}),
    namespace,
    diskNamespace: namespace,
    clock: systemClock,
    newUuid: randomUUID,
    directorUuid: 'director-1',
    log: () => undefined,
    reportProgress: () => undefined,
  };
}

async function exec(
  { nodes }: SimulatedCluster,
  { pod, container, command }: ExecCommand,
): Promise<ExecResult> {
  const session = await nodes.exec({ namespace, pod, container, command, stdin: false, tty: false });
  const [stdout, stderr] = await Promise.all([buffer(session.stdout), buffer(session.stderr)]);
  const { exitCode } = await session.exited;
  // runScript, which converts this exit code, is not part of this path
  return {
    exitCode: exitCode === successExit ? 0 : exitCode,
    stdout: stdout.toString(),
    stderr: stderr.toString(),
  };
}

async function addVolume({ api }: SimulatedCluster, zone: string | undefined): Promise<void> {
  const inZone = { key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: [zone ?? ''] };
  await api.create<PersistentVolume>(persistentVolumes, {
    metadata: { name: `volume-${randomUUID()}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: '',
      hostPath: { path: '/simulated' },
      ...(zone !== undefined && {
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inZone] }] } },
      }),
    },
  });
}
