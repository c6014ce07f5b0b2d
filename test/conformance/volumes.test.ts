import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { clause } from './clause.ts';
import { World } from './world.ts';

type Claim = KubernetesObject & {
  readonly spec: { readonly storageClassName?: string };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } };
};

/** Sizes, classes and snapshots of disks with content. */
describe('volumes', () => {
  let world: World;
  let rigid: string;
  let other: string;
  let vm: string;

  before(async () => {
    world = await World.open();
    const { provisioner, parameters } = await world.defaultClass();
    const make = async (purpose: string, more: object): Promise<string> => {
      const name = `${world.namespace}-${purpose}`;
      const given = parameters === undefined ? {} : { parameters };
      await world.api.create(storageClasses, { ...{ metadata: { name }, provisioner }, ...given, ...more });
      return name;
    };
    rigid = await make('rigid', { allowVolumeExpansion: false });
    other = await make('other', { allowVolumeExpansion: true });
    vm = await world.newVm();
  });
  after(async () => {
    for (const name of [rigid, other]) await world.api.delete({ resource: storageClasses, name });
    await world.close();
  });

  const store = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;
  const claimOf = (disk: string): Promise<Claim> =>
    world.api.get<Claim>({ resource: persistentVolumeClaims, namespace: world.namespace, name: disk });

  /** Makes a detached disk with a file in it. */
  async function filled(properties: object = {}): Promise<string> {
    const disk = await world.newDisk(properties, vm);
    await world.call('attach_disk', vm, disk);
    await world.run(vm, `echo kept > ${store(disk)}/content`);
    await world.call('detach_disk', vm, disk);
    return disk;
  }

  async function assertKept(disk: string): Promise<void> {
    await world.call('attach_disk', vm, disk);
    assert.equal(await world.run(vm, `cat ${store(disk)}/content`), 'kept\n');
    await world.call('detach_disk', vm, disk);
  }

  /** Returns the size of the disk in the VM in MiB. Attaches the disk for that, and checks its file. */
  async function sizeInVm(disk: string): Promise<number> {
    await world.call('attach_disk', vm, disk);
    assert.equal(await world.run(vm, `cat ${store(disk)}/content`), 'kept\n');
    const size = await world.run(vm, `df --output=size -m ${store(disk)} | tail -n 1`);
    await world.call('detach_disk', vm, disk);
    assert.ok(Number(size) > 0, size);
    return Number(size);
  }

  clause('39a', async () => {
    const disk = await filled();
    const previous = await sizeInVm(disk);
    await world.call('resize_disk', disk, 128);
    const size = await sizeInVm(disk);
    // all volumes of the embedded cluster are folders of one file system
    const isOwnSystem = world.target.kind !== 'embedded';
    assert.ok(!isOwnSystem || (previous <= 64 && size > 64), `${previous} MiB, and then ${size} MiB`);
    await until('the new capacity', async () => (await claimOf(disk)).status?.capacity?.storage === '128Mi');
    await world.call('delete_disk', disk);
  });

  clause('39b', async () => {
    const disk = await filled();
    const { resourceVersion } = (await claimOf(disk)).metadata;
    await world.call('resize_disk', disk, 64);
    assert.equal((await claimOf(disk)).metadata.resourceVersion, resourceVersion);
    await world.call('delete_disk', disk);
  });

  clause('39c', async () => {
    const disk = await filled();
    await world.refuses('NotSupported', 'resize_disk', [disk, 32]);
    await assertKept(disk);
    await world.call('delete_disk', disk);
  });

  clause('39d', async () => {
    const disk = await filled({ storage_class: rigid });
    await world.refuses('NotSupported', 'resize_disk', [disk, 128]);
    await assertKept(disk);
    await world.call('delete_disk', disk);
  });

  clause('40a', async () => {
    const disk = await filled({ storage_class: other });
    assert.equal(await world.call('update_disk', disk, 64, { storage_class: other }), null);
    await world.call('delete_disk', disk);
  });

  clause('40b', async () => {
    const disk = await filled({ storage_class: other });
    assert.equal(await world.call('update_disk', disk, 128, { storage_class: other }), null);
    await assertKept(disk);
    await world.call('delete_disk', disk);
  });

  clause('40c', async () => {
    const disk = await filled({ storage_class: rigid });
    const copy = await world.call<string>('update_disk', disk, 64, { storage_class: other });
    assert.notEqual(copy, disk);
    assert.equal((await claimOf(copy)).spec.storageClassName, other);
    await assertKept(copy);
    await until('the old claim to be gone', async () => !(await world.objects()).disks.includes(disk));
    await world.call('delete_disk', copy);
  });

  clause('40d', async () => {
    const disk = await filled({ storage_class: other });
    await world.refuses('NotSupported', 'update_disk', [disk, 32, { storage_class: other }]);
    await assertKept(disk);
    await world.call('delete_disk', disk);
  });

  clause('40e', async () => {
    const disk = await filled({ storage_class: rigid });
    for (const delay of [40, 80, 160]) {
      const killed = world.request('update_disk', [disk, 64, { storage_class: other }], {
        onStart: (child) => setTimeout(() => child.kill('SIGKILL'), delay),
      });
      await Promise.allSettled([killed]);
      assert.equal(await world.call('has_disk', disk), true);
    }
    const copy = await world.call<string>('update_disk', disk, 64, { storage_class: other });
    await assertKept(copy);
    await world.call('delete_disk', copy);
    await until('all copies to be gone', async () => (await world.objects()).disks.length === 0);
  });

  clause('42a', async () => {
    const disk = await filled();
    const snapshot = await world.call<string>('snapshot_disk', disk, { deployment: 'cf', index: 0 });
    const reference = { resource: volumeSnapshots, namespace: world.namespace, name: snapshot };
    const { status } = await world.api.get<KubernetesObject & { status?: { readyToUse?: boolean } }>(
      reference,
    );
    assert.equal(status?.readyToUse, true);
    await world.call('delete_snapshot', snapshot);
    await world.call('delete_disk', disk);
  });

  clause('42b', async () => {
    await world.refuses('DiskNotFound', 'snapshot_disk', [`disk-${randomUUID()}`, {}]);
  });

  clause('42c', async () => {
    // in the format of the CPI's cids; a cid of another format is never looked up
    await world.call('delete_snapshot', `snap-${randomUUID()}`);
  });

  clause('42d', async () => {
    const disk = await filled();
    const snapshot = await world.call<string>('snapshot_disk', disk, {});
    await world.call('delete_disk', disk);
    const list = await world.api.list(volumeSnapshots, { namespace: world.namespace });
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      [snapshot],
    );
    await world.call('delete_snapshot', snapshot);
  });

  clause('42e', async () => {
    const name = `${world.namespace}-static`;
    const spec = {
      ...{ capacity: { storage: '64Mi' }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
      ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: '/nonexistent' } },
    };
    await world.api.create(persistentVolumes, { metadata: { name }, ...{ spec } });
    const disk = await world.newDisk({ storage_class: '' });
    await until('the claim to be bound', async () => (await claimOf(disk)).status?.phase === 'Bound');
    await world.refuses('NotImplemented', 'snapshot_disk', [disk, {}]);
    assert.deepEqual((await world.api.list(volumeSnapshots, { namespace: world.namespace })).items, []);
    await world.call('delete_disk', disk);
    await world.api.delete({ resource: persistentVolumes, name });
  });
});
