import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import type { ClusterWorld } from '../../test/cluster/support/cluster-world.ts';
import { watchPod } from './pod-moments.ts';
import { watchVolume } from './volume-moments.ts';

/**
 * Measures a pod that has only that disk, on that node, from its creation until the volume is detached. The
 * pod ends at once on SIGTERM: only the volume plugin is measured.
 */
export async function plainPod(
  world: ClusterWorld,
  name: string,
  location: { readonly disk: string; readonly volume: string; readonly node: string },
): Promise<Record<string, number>> {
  const { api, namespace } = world;
  const watch = watchPod(api, namespace, name);
  const volume = watchVolume(api, location.volume);
  const start = performance.now();
  await api.create<Pod>(pods, {
    metadata: { name, namespace },
    spec: {
      hostNetwork: true,
      nodeSelector: { 'kubernetes.io/hostname': location.node },
      containers: [
        {
          name: 'plain',
          image: world.cluster.stemcell.image,
          // without a trap PID 1 runs until the end of its grace period
          command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while :; do sleep 100000 & wait; done'],
          volumeMounts: [{ name: 'volume', mountPath: '/volume' }],
        },
      ],
      volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: location.disk } }],
    },
  });
  await watch.reached('running');
  const running = performance.now();
  await api.delete(world.podReference(name));
  await watch.reached('removed');
  const removedAt = performance.now();
  await volume.reached('detached');
  const detached = performance.now();
  await Promise.all([watch.stop(), volume.stop()]);
  return {
    'plain pod, until it runs': running - start,
    'plain pod, until it is removed': removedAt - running,
    'plain pod, until its volume is detached': detached - running,
  };
}
