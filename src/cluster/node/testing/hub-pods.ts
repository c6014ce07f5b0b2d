import { join } from 'node:path';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../kubernetes/resources.ts';
import { nodeLayout } from '../layout.ts';
import { fromObject } from '../paths-in-objects.ts';
import { container, type NodeWorld } from './node-world.ts';

/** A volume of the node with a claim `claim-<name>` bound to it; resolves with its folder. */
export async function createVolume({ api, node, directory }: NodeWorld, name: string): Promise<string> {
  const path = await node.provision(name);
  const accessModes = ['ReadWriteOnce'];
  const claim = await api.create(persistentVolumeClaims, {
    metadata: { namespace: 'bosh', name: `claim-${name}` },
    spec: {
      accessModes,
      resources: { requests: { storage: '1Mi' } },
      volumeName: name,
      storageClassName: '',
    },
  } as KubernetesObject);
  await api.replace(
    persistentVolumeClaims,
    { ...claim, status: { phase: 'Bound' } } as KubernetesObject,
    'status',
  );
  const { uid, resourceVersion } = claim.metadata;
  await api.create(persistentVolumes, {
    metadata: { name },
    spec: {
      ...{
        accessModes,
        capacity: { storage: '1Mi' },
        local: { path },
        persistentVolumeReclaimPolicy: 'Retain',
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['embedded'] }] },
          ],
        },
      },
      claimRef: {
        kind: 'PersistentVolumeClaim',
        namespace: 'bosh',
        name: `claim-${name}`,
        uid,
        resourceVersion,
      },
    },
  } as KubernetesObject);
  return fromObject(nodeLayout(directory), path);
}

/** A VM's pod with a hub, as the CPI makes it. */
export function hubVm(world: NodeWorld, name: string): Promise<Pod> {
  return world.podOf(name, {
    initContainers: [
      container('mkdir -p /hub/disks', {
        name: 'prepare',
        volumeMounts: [{ name: 'hub', mountPath: '/hub' }],
      }),
    ],
    containers: [
      container('trap "exit 0" TERM; while :; do sleep 0.05; done', {
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'hub', mountPath: '/hub', mountPropagation: 'HostToContainer' }],
      }),
    ],
    volumes: [{ name: 'hub', emptyDir: { medium: 'Memory' } }],
  });
}

/** A pod that binds a volume into the hub of a VM. */
export function attachment(world: NodeWorld, name: string, vm: Pod, volume: string): Promise<Pod> {
  const path = join(
    world.directory,
    'kubelet/pods',
    vm.metadata.uid ?? '',
    'volumes/kubernetes.io~empty-dir/hub/disks',
  );
  return world.podOf(name, {
    hostNetwork: true,
    hostPID: true,
    containers: [
      container(
        'mkdir -p /hub/d && mount --bind /volume /hub/d && trap "umount /hub/d && exit 0" TERM; while :; do sleep 0.05; done',
        {
          securityContext: { privileged: true },
          volumeMounts: [
            { name: 'hub', mountPath: '/hub', mountPropagation: 'Bidirectional' },
            { name: 'volume', mountPath: '/volume' },
          ],
        },
      ),
    ],
    volumes: [
      { name: 'hub', hostPath: { path, type: 'Directory' } },
      { name: 'volume', persistentVolumeClaim: { claimName: `claim-${volume}` } },
    ],
  });
}
