import { formatTable } from '../../src/cli/output/table.ts';
import { methodNames, offlineMethods } from '../../src/cpi/protocol/methods.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../src/kubernetes/types/storage.ts';
import type { Caller } from './callers.ts';
import { volumeOf } from './others.ts';
import type { ScaleServer } from './scale-server.ts';

const image = 'embedded.bosh-kubernetes/host-root:1';
const namespace = 'bosh';
const network = { type: 'manual', range: '10.0.0.0/24', cloud_properties: { network_policy: true } };
const metadata = { director: 'scale', deployment: 'scale', job: 'group', index: '0' };

export interface Growth {
  readonly server: ScaleServer;
  readonly api: KubernetesApi;
  readonly call: Caller;
  /** The table's columns: how many pods, claims, volumes and VolumeAttachments of others exist. */
  readonly counts: readonly number[];
  /** The number of calls of each method at each count. */
  readonly rounds: number;
}

/**
 * Measures every method that uses the API, one call at a time, and returns the table: the fastest call of
 * each, which other load on the machine disturbs least, and its ratio to the one at the first count.
 */
export async function measureGrowth({ server, api, call, counts, rounds }: Growth): Promise<string> {
  await addClasses(api);
  const quickest = new Map<string, number[]>();
  for (const count of counts) {
    await server.fill(count);
    const taken = new Map<string, number[]>();
    const timed: Caller = async (method, args) => {
      const began = performance.now();
      const result = await call(method, args);
      taken.set(method, [...(taken.get(method) ?? []), performance.now() - began]);
      return result;
    };
    // the first round is a warm-up
    await oneRound({ api, call, timed: call }, `warm-${count}`);
    for (let round = 0; round < rounds; round += 1) {
      await oneRound({ api, call, timed }, `${count}-${round}`);
    }
    for (const [method, times] of taken) {
      quickest.set(method, [...(quickest.get(method) ?? []), Math.min(...times)]);
    }
  }
  const asking = methodNames.filter((method) => !offlineMethods.includes(method));
  const rows = asking.map((method) => {
    const [first, ...more] = quickest.get(method) ?? [];
    if (first === undefined) throw new Error(`the benchmark never calls ${method}`);
    const ratios = more.map((time) => `${time.toFixed(1)} (${(time / first).toFixed(2)})`);
    return [method, first.toFixed(1), ...ratios];
  });
  return formatTable(['', ...counts.map(String)], rows);
}

interface Round {
  readonly api: KubernetesApi;
  readonly call: Caller;
  readonly timed: Caller;
}

/**
 * Calls all methods for one VM, for a disk on a volume that a driver attaches, for a disk that a class
 * provisions, and for a network.
 */
async function oneRound(round: Round, name: string): Promise<void> {
  const { timed } = round;
  const networks = { default: { type: 'dynamic', cloud_properties: {} } };
  const env = { bosh: { group: 'growth' } };
  const request = [`agent-${name}`, image, { cpu: 1 }, networks, [], env];
  await timed('check_vm', [...request, null]);
  const [vm] = (await timed('create_vm', request)) as [string];
  await timed('has_vm', [vm]);
  await timed('describe_vm', [vm]);
  await timed('set_vm_metadata', [vm, metadata]);
  await attachedDisk(round, vm, name);
  await timed('reboot_vm', [vm]);
  await timed('delete_vm', [vm]);
  await provisionedDisk(round);
  const [cid] = (await timed('create_network', [network])) as [string];
  await timed('delete_network', [cid]);
}

async function attachedDisk({ api, timed }: Round, vm: string, name: string): Promise<void> {
  await api.create(persistentVolumes, volumeOf(`own-${name}`));
  const disk = String(await timed('create_disk', [64, { storage_class: '' }, null]));
  await untilBound(api, disk);
  await timed('has_disk', [disk]);
  await timed('set_disk_metadata', [disk, metadata]);
  await timed('attach_disk', [vm, disk]);
  await timed('get_disks', [vm]);
  await timed('detach_disk', [vm, disk]);
  await timed('delete_disk', [disk]);
  await api.delete({ resource: persistentVolumes, name: `own-${name}` });
}

async function provisionedDisk({ api, call, timed }: Round): Promise<void> {
  const disk = String(await call('create_disk', [64, { storage_class: 'now' }, null]));
  await untilBound(api, disk);
  const snapshot = await timed('snapshot_disk', [disk, metadata]);
  await timed('delete_snapshot', [snapshot]);
  await timed('resize_disk', [disk, 128]);
  const copy = await timed('update_disk', [disk, 128, { storage_class: 'other' }]);
  await call('delete_disk', [copy]);
}

/**
 * Creates classes like `local`, but with immediate binding: their volumes are provisioned before a pod uses
 * them.
 */
async function addClasses(api: KubernetesApi): Promise<void> {
  for (const name of ['now', 'other']) {
    await api.create<StorageClass>(storageClasses, {
      metadata: { name },
      provisioner: 'bosh-kubernetes.io/local',
      allowVolumeExpansion: true,
      volumeBindingMode: 'Immediate',
    });
  }
}

async function untilBound(api: KubernetesApi, name: string): Promise<void> {
  const reference = { resource: persistentVolumeClaims, namespace, name };
  while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
