import { arch, cpus, release, totalmem } from 'node:os';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { machineLabel } from '../../src/kubernetes/types/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { nodeAddress } from './pods/pod-addresses.ts';

export interface KubernetesNode extends KubernetesObject {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

export interface NodeFacts {
  readonly name: string;
  readonly zone: string;
  /** The machine that this node belongs to. */
  readonly machine: string;
  /** Size of the file system of the volumes in bytes, for ephemeral-storage. */
  readonly storage: number;
  /** Ids and names of the machine: /etc/machine-id, the boot id, PRETTY_NAME of os-release. */
  readonly machineId: string;
  readonly bootId: string;
  readonly osImage: string;
  readonly version: string;
  /** A Kubernetes timestamp. */
  readonly now: string;
}

export const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

export function nodeCondition(
  type: string,
  status: 'True' | 'False',
  reason: string,
  message: string,
  now: string,
): object {
  return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: now };
}

/** Returns the status of the node as kubelet would report it. */
function nodeStatus(facts: NodeFacts): Record<string, unknown> {
  const { now } = facts;
  const resources = {
    cpu: String(cpus().length),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    'ephemeral-storage': `${Math.floor(facts.storage / 1024)}Ki`,
    pods: '1000',
  };
  return {
    capacity: resources,
    allocatable: resources,
    addresses: [
      { type: 'InternalIP', address: nodeAddress },
      { type: 'Hostname', address: facts.name },
    ],
    conditions: [
      nodeCondition(
        'MemoryPressure',
        'False',
        'KubeletHasSufficientMemory',
        'kubelet has sufficient memory available',
        now,
      ),
      nodeCondition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure', now),
      nodeCondition(
        'PIDPressure',
        'False',
        'KubeletHasSufficientPID',
        'kubelet has sufficient PID available',
        now,
      ),
      nodeCondition('Ready', 'True', 'KubeletReady', 'the embedded node is posting ready status', now),
    ],
    nodeInfo: {
      architecture: architectures[arch()] ?? arch(),
      operatingSystem: 'linux',
      kernelVersion: release(),
      machineID: facts.machineId,
      systemUUID: facts.machineId,
      bootID: facts.bootId,
      osImage: facts.osImage,
      containerRuntimeVersion: `embedded://${facts.version}`,
      kubeletVersion: `v${facts.version}`,
      kubeProxyVersion: '',
    },
    images: [{ names: [hostRootImage], sizeBytes: 0 }],
  };
}

function nodeObject(facts: NodeFacts): KubernetesNode {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: facts.name,
      labels: {
        'kubernetes.io/hostname': facts.name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architectures[arch()] ?? arch(),
        'topology.kubernetes.io/zone': facts.zone,
        [machineLabel]: facts.machine,
      },
    },
    spec: {},
  };
}

/** Creates the Node object if it is missing and reports the node as ready. Idempotent. */
export async function registerNode(api: KubernetesApi, facts: NodeFacts): Promise<void> {
  await createOrUpdateNode(api, nodeObject(facts), nodeStatus(facts));
}

/**
 * Creates this Node object if there is none of its name. Writes the status of an existing one, and the labels
 * that it does not have, as kubelet does: an earlier version of this program did not know them. Uses a patch,
 * because controllers write to a node from the first moment on, and may do so between a read and a write.
 */
export async function createOrUpdateNode(
  api: KubernetesApi,
  node: KubernetesNode,
  status: Record<string, unknown>,
): Promise<KubernetesNode> {
  const reference = { resource: nodes, name: node.metadata.name };
  try {
    const known = await api.get<KubernetesNode>(reference);
    const labels = { ...node.metadata.labels, ...known.metadata.labels };
    await api.patch<KubernetesNode>(reference, { metadata: { labels } });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await api.create<KubernetesNode>(nodes, node);
  }
  return await api.patch<KubernetesNode>(reference, { status }, { subresource: 'status' });
}

/** The image reference for the host's root directory, the only one that the embedded node runs. */
export const hostRootImage = 'embedded.bosh-kubernetes/host-root:1';
