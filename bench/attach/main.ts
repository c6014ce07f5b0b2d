import { formatTable } from '../../src/cli/table.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { ClusterWorld } from '../../test/cluster/support/cluster-world.ts';
import { askedCluster, openCluster } from '../../test/cluster/support/open-cluster.ts';
import { type PodMoments, watchPod } from './pod-moments.ts';

/**
 * attach_disk and detach_disk on real kubelets, in milliseconds, beside a plain pod that mounts and leaves a volume of the
 * same class on the same node in the same run: what the volume plugin itself takes. `npm run bench:attach [runs]`
 */
const runs = Number(process.argv[2] ?? 10);
const asked = askedCluster();
if (asked.kind === 'none') throw new Error(asked.reason);
const world = await ClusterWorld.open(await openCluster(asked));
try {
  const vm = await world.newVm();
  const { name: node } = await world.nodeOf(vm);
  const samples: Record<string, number>[] = [];
  for (let run = 0; run < runs; run += 1) {
    const plain = await plainPod(node, run);
    const own = await attachAndDetach(vm);
    samples.push({
      ...plain,
      ...own,
      'attach_disk over the plain pod': (own['attach_disk'] ?? 0) - (plain['plain pod, until it runs'] ?? 0),
      'detach_disk over the plain pod':
        (own['detach_disk'] ?? 0) - (plain['plain pod, until it is gone'] ?? 0),
    });
  }
  const rows = Object.keys(samples[0] ?? {}).map((key) => {
    const values = samples.map((sample) => sample[key] ?? 0).toSorted((a, b) => a - b);
    return [key, (values[Math.floor(values.length / 2)] ?? 0).toFixed(0), (values.at(-1) ?? 0).toFixed(0)];
  });
  const restarts = (await world.pod(vm)).status?.containerStatuses?.[0]?.restartCount ?? 0;
  process.stdout.write(`${formatTable([`${runs} runs, ms`, 'median', 'worst'], rows)}\n`);
  process.stdout.write(`restarts of the VM: ${restarts}\n`);
  await deleteVm(world.cloud, [vm]);
} finally {
  await world.close();
}

async function attachAndDetach(vm: string): Promise<Record<string, number>> {
  const disk = await world.newDisk('loop');
  const watch = watchPod(world.api, world.namespace, `attach-${disk}`);
  const start = performance.now();
  await attachDisk(world.cloud, [vm, disk]);
  const attached = performance.now();
  await watch.reached('running');
  const detachStart = performance.now();
  await detachDisk(world.cloud, [vm, disk]);
  const detached = performance.now();
  await watch.stop();
  await deleteDisk(world.cloud, [disk]);
  return {
    attach_disk: attached - start,
    ...stages(watch.moments, start),
    detach_disk: detached - detachStart,
  };
}

function stages(moments: PodMoments, start: number): Record<string, number> {
  const { created = start, scheduled = created, sandbox = scheduled, bound = sandbox } = moments;
  const { running = bound } = moments;
  return {
    '  API, until the pod is there': created - start,
    '  scheduling': scheduled - created,
    '  volume and sandbox': sandbox - scheduled,
    '  mount into the hub': bound - sandbox,
    '  holder': running - bound,
  };
}

/** A pod with nothing but the volume; deleted as attachments are, without a grace of its own. */
async function plainPod(node: string, run: number): Promise<Record<string, number>> {
  const disk = await world.newDisk('loop');
  const name = `plain-${run}`;
  const watch = watchPod(world.api, world.namespace, name);
  const start = performance.now();
  const pod: Pod = {
    metadata: { name, namespace: world.namespace },
    spec: {
      hostNetwork: true,
      nodeSelector: { 'kubernetes.io/hostname': node },
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'plain',
          image: world.cluster.stemcell.image,
          command: ['/bin/sleep', '100000'],
          volumeMounts: [{ name: 'volume', mountPath: '/volume' }],
        },
      ],
      volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: disk } }],
    },
  };
  await world.api.create(pods, pod);
  await watch.reached('running');
  const running = performance.now();
  await world.api.delete(world.podReference(name));
  await watch.reached('gone');
  const gone = performance.now();
  await watch.stop();
  await deleteDisk(world.cloud, [disk]);
  return { 'plain pod, until it runs': running - start, 'plain pod, until it is gone': gone - running };
}
