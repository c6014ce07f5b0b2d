import assert from 'node:assert/strict';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';
import type { DiskSubject } from './disk-subject.ts';

/** The name of the bystander's pod. */
export const bystander = 'bystander';

/**
 * Starts a pod on the VM's node that has copies of all mounts below the kubelet's directory, including the
 * disk, and uses none of them.
 */
export async function startBystander(world: ClusterWorld, { vm, disks }: DiskSubject): Promise<void> {
  await world.api.create(pods, bystanderPod(world, await world.nodeNameOf(vm)));
  await until('the bystander', async () => (await world.pod(bystander)).status?.phase === 'Running');
  const mounts = await world.inVm(bystander, 'cat /proc/self/mountinfo');
  assert.match(mounts, new RegExp(disks[0] ?? '', 'u'));
}

function bystanderPod({ cluster, namespace }: ClusterWorld, nodeName: string): Pod {
  return {
    metadata: { name: bystander, namespace },
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
