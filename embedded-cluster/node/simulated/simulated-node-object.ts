import { arch } from 'node:os';
import { architectures, nodeCondition, type KubernetesNode } from '../node-object.ts';
import type { NodeArgument } from '../parse-node.ts';

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
