import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { type Lease, nodeLeaseNamespace } from '../../../src/kubernetes/types/node.ts';
import { arch } from 'node:os';
import { architectures, nodeCondition, type KubernetesNode } from '../../node/node-object.ts';
import type { NodeArgument } from '../../node/parse-node.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { leases, nodes } from '../../../src/kubernetes/resources.ts';

/** Marks a Node that reports status and runs nothing. */
export const simulatedLabel = 'bosh-kubernetes.io/simulated';

const unlimitedCapacity = { cpu: '10k', memory: '100Ti', 'ephemeral-storage': '1Pi', pods: '100k' };

export function simulatedNodeObject({ name, zone }: NodeArgument): KubernetesNode {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architectures[arch()] ?? arch(),
        [simulatedLabel]: 'true',
        ...(zone !== undefined && { 'topology.kubernetes.io/zone': zone }),
      },
    },
    spec: {},
  };
}

/** Returns the status of a healthy simulated node. `now` is a Kubernetes timestamp. */
export function simulatedNodeStatus(
  { name }: NodeArgument,
  address: string,
  now: string,
): Record<string, unknown> {
  const architecture = architectures[arch()] ?? arch();
  return {
    capacity: unlimitedCapacity,
    allocatable: unlimitedCapacity,
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    conditions: [
      nodeCondition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'simulated', now),
      nodeCondition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'simulated', now),
      nodeCondition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'simulated', now),
      nodeCondition('Ready', 'True', 'KubeletReady', 'the simulated node is posting ready status', now),
    ],
    nodeInfo: { architecture, operatingSystem: 'linux', containerRuntimeVersion: 'simulated://1' },
  };
}

/** kubelet's nodeLeaseDurationSeconds. */
const leaseSeconds = 40;

/**
 * Renews the Lease of a node, as kubelet does. Creates the Lease, owned by the Node, if it is missing. Does
 * nothing for a deleted node. `now`: milliseconds since the epoch.
 */
export async function renewLease(api: KubernetesApi, name: string, now: number): Promise<void> {
  const renewTime = new Date(now).toISOString().replace('Z', '000Z');
  try {
    await api.patch({ resource: leases, namespace: nodeLeaseNamespace, name }, { spec: { renewTime } });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await makeLease(api, name, renewTime);
  }
}

async function makeLease(api: KubernetesApi, name: string, renewTime: string): Promise<void> {
  try {
    const { metadata } = await api.get<KubernetesObject>({ resource: nodes, name });
    await api.create<Lease>(leases, {
      metadata: {
        name,
        namespace: nodeLeaseNamespace,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: metadata.uid }],
      },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    });
  } catch (error) {
    // The node was deleted, or another renewal was faster.
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
