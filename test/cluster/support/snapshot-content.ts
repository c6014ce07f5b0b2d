import { persistentVolumeClaims, pods } from '../../../src/kubernetes/resources.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';

/**
 * Returns a file of a snapshot (the CPI's disks have theirs in `store`), or why it cannot be read. Reads it
 * from a claim of that class that is restored from the snapshot, as an operator would do. Removes the claim
 * and the pod.
 */
export async function readFromSnapshot(
  world: ClusterWorld,
  snapshot: string,
  { file, storageClass }: { readonly file: string; readonly storageClass: DiskClass },
): Promise<string> {
  const { api, namespace } = world;
  const name = `restored-${snapshot}`;
  const storageClassName = world.cluster.storageClass(storageClass);
  const claim = { resource: persistentVolumeClaims, namespace, name };
  await api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
    metadata: { name, namespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { requests: { storage: '32Mi' } },
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshot },
    },
  });
  await api.create<Pod>(pods, reader(world, name));
  try {
    await until(`${name} to run`, async () => (await world.pod(name)).status?.phase === 'Running');
    const { stdout, stderr } = await world.exec(name, `cat /volume/${file}`);
    return `${stdout}${stderr}`;
  } finally {
    await api.delete(world.podReference(name));
    await world.untilGone(name);
    await api.delete(claim);
    await until(`claim ${name} to go`, async () => !(await world.isThere(claim)));
  }
}

/** Returns a pod whose container has the name of a VM's container, so that commands find it. */
function reader({ namespace, cluster }: ClusterWorld, name: string): Pod {
  return {
    metadata: { name, namespace },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'bosh',
          image: cluster.stemcell.image,
          command: ['/bin/sleep', 'infinity'],
          volumeMounts: [{ name: 'volume', mountPath: '/volume' }],
        },
      ],
      volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: name } }],
    },
  };
}
