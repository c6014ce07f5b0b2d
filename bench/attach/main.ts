import { formatTable } from '../../src/cli/output/table.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { persistentVolumeClaims } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/types/storage.ts';
import { ClusterWorld } from '../../test/cluster/support/cluster-world.ts';
import { askedCluster, openCluster } from '../../test/cluster/support/open-cluster.ts';
import { testCluster } from '../../test/cluster/test-cluster.ts';
import { until } from '../../test/support/until.ts';
import { plainPod } from './plain-pod.ts';
import { watchPod } from './pod-moments.ts';
import { attachStages, detachStages } from './stages.ts';
import { kubeletMoments, watchVolume } from './volume-moments.ts';

/**
 * Measures attach_disk and detach_disk on real kubelets, in milliseconds, compared with a plain pod that
 * mounts and unmounts a volume of the same class on the same node in the same run: that is the time of the
 * volume plugin itself. `npm run bench:attach -- [runs]`; fails if the VM restarted.
 */
const runs = Number(process.argv[2] ?? 10);
if (!Number.isInteger(runs) || runs < 1)
  throw new Error(`"${process.argv[2]}" is not a valid number of runs`);
const requested = askedCluster();
if (requested.kind !== 'own')
  throw new Error(
    requested.kind === 'none'
      ? requested.reason
      : "needs the logs of the suite's own kubelets: without KUBECONFIG",
  );
const world = await ClusterWorld.open(await openCluster(requested));
try {
  const vm = await world.newVm();
  const { name: node } = await world.nodeOf(vm);
  const samples: Record<string, number>[] = [];
  for (let run = 0; run < runs; run += 1) {
    const plain = await withDisk((disk, volume) => plainPod(world, `plain-${run}`, { disk, volume, node }));
    const own = await withDisk((disk, volume) => attachAndDetach(vm, node, disk, volume));
    const over = (verb: string, moment: string): number => (own[verb] ?? 0) - (plain[moment] ?? 0);
    samples.push({
      ...plain,
      ...own,
      'attach_disk over the plain pod': over('attach_disk', 'plain pod, until it runs'),
      'detach_disk over the plain pod': over('detach_disk', 'plain pod, until its volume is detached'),
    });
  }
  const rows = Object.keys(samples[0] ?? {}).map((key) => {
    const values = samples.map((sample) => sample[key] ?? 0).toSorted((a, b) => a - b);
    return [key, (values[Math.floor(values.length / 2)] ?? 0).toFixed(0), (values.at(-1) ?? 0).toFixed(0)];
  });
  const restarts = (await world.pod(vm)).status?.containerStatuses?.[0]?.restartCount ?? 0;
  process.stdout.write(`${formatTable([`${runs} runs, ms`, 'median', 'worst'], rows)}\n`);
  process.stdout.write(`restarts of the VM: ${restarts}\n`);
  // the target is no restart: disks are attached and detached while jobs run
  if (restarts > 0) process.exitCode = 1;
  await deleteVm(world.cloud, { vmCid: vm });
} finally {
  await world.close();
}

/** Creates a disk whose volume is already provisioned, because provisioning is not part of an attach. */
async function withDisk<T>(action: (disk: string, volume: string) => Promise<T>): Promise<T> {
  const disk = await world.newDisk('loop');
  const reference = { resource: persistentVolumeClaims, namespace: world.namespace, name: disk };
  const volume = await until(
    `a volume of ${disk}`,
    async () => (await world.api.get<PersistentVolumeClaim>(reference)).spec.volumeName,
  );
  const result = await action(disk, volume);
  await deleteDisk(world.cloud, { diskCid: disk });
  return result;
}

async function attachAndDetach(
  vm: string,
  node: string,
  disk: string,
  volume: string,
): Promise<Record<string, number>> {
  const pod = watchPod(world.api, world.namespace, `attach-${disk}`);
  const attachment = watchVolume(world.api, volume);
  const attachStart = performance.now();
  await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  const attachEnd = performance.now();
  await pod.reached('running');
  let released = performance.now();
  const detachStart = released;
  const cloud: typeof world.cloud = {
    ...world.cloud,
    exec: async (command) => {
      const outcome = await world.cloud.exec(command);
      released = performance.now();
      return outcome;
    },
  };
  await detachDisk(cloud, { vmCid: vm, diskCid: disk });
  const detachEnd = performance.now();
  await attachment.reached('detached');
  await Promise.all([pod.stop(), attachment.stop()]);
  const { directory } = testCluster().node(node).machine;
  const moments = {
    ...pod.moments,
    ...attachment.moments,
    ...(await kubeletMoments(directory, volume)),
    released,
  };
  return {
    attach_disk: attachEnd - attachStart,
    ...attachStages(moments, attachStart, attachEnd),
    detach_disk: detachEnd - detachStart,
    ...detachStages(moments, detachStart, detachEnd),
  };
}
