import { arch } from 'node:os';
import { architectures, condition, type NodeObject } from '../node-object.ts';
import type { NodeName } from '../parse-node.ts';

/** Says of a Node that it reports status and runs nothing. */
export const simulatedLabel = 'bosh-kubernetes.io/simulated';

const roomy = { cpu: '10k', memory: '100Ti', 'ephemeral-storage': '1Pi', pods: '100k' };

export function simulatedNodeObject({ name, zone }: NodeName): NodeObject {
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

/** The status of a simulated node that is well. `now` is a Kubernetes timestamp. */
export function simulatedNodeStatus(
  { name }: NodeName,
  address: string,
  now: string,
): Record<string, unknown> {
  const architecture = architectures[arch()] ?? arch();
  return {
    capacity: roomy,
    allocatable: roomy,
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    conditions: [
      condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'simulated', now),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'simulated', now),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'simulated', now),
      condition('Ready', 'True', 'KubeletReady', 'the simulated node is posting ready status', now),
    ],
    nodeInfo: { architecture, operatingSystem: 'linux', containerRuntimeVersion: 'simulated://1' },
  };
}
