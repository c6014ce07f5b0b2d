import assert from 'node:assert/strict';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';
import type { WritingVm } from './disk-setup.ts';

/** The name of the unrelated pod. */
export const unrelatedPod = 'bystander';

/**
 * Starts a pod on the VM's node that has copies of all mounts below the kubelet's directory, including the
 * disk, and uses none of them.
 */
export async function startUnrelatedPod(world: ClusterWorld, { vm, disks }: WritingVm): Promise<void> {
  await world.api.create(pods, unrelatedPodObject(world, await world.nodeNameOf(vm)));
  await until('the unrelated pod', async () => (await world.pod(unrelatedPod)).status?.phase === 'Running');
  const mounts = await world.inVm(unrelatedPod, 'cat /proc/self/mountinfo');
  assert.match(mounts, new RegExp(disks[0] ?? '', 'u'));
}

function unrelatedPodObject({ cluster, namespace }: ClusterWorld, nodeName: string): Pod {
  return {
    metadata: { name: unrelatedPod, namespace },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': nodeName },
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'bosh',
          image: cluster.stemcell.image,
          command: ['/bin/sh', '-c', 'exec sleep 100000'],
          volumeMounts: [{ name: 'kubelet', mountPath: '/kubelet', mountPropagation: 'HostToContainer' }],
        },
      ],
      volumes: [{ name: 'kubelet', hostPath: { path: cluster.kubeletRootDirectory } }],
    },
  };
}
