import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describeInOneNamespace } from '../../../../embedded-cluster/node/testing/in-namespace.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeSnapshotClasses,
  volumeSnapshots,
} from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../../kubernetes/types/storage.ts';
import { deleteSnapshot } from '../../snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../snapshot/snapshot-disk.ts';
import { EmbeddedWorld } from '../../testing/embedded-world.ts';
import { createVmRequest, namespace } from '../../testing/test-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { deleteVm } from '../../vm/delete-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { createDisk } from '../create-disk.ts';
import { deleteDisk } from '../delete-disk.ts';
import { detachDisk } from '../detach-disk.ts';
import { resizeDisk } from '../resize-disk.ts';
import { updateDisk } from '../update-disk.ts';

/** Changes of disks on the embedded node: real directories, real copies, a real scheduler. */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let vm: string;

  before(async () => {
    world = await EmbeddedWorld.start();
    const networks = { default: { type: 'manual', ip: '127.64.9.1' } };
    [vm] = await createVm(world.cloud, createVmRequest({ agentId: 'agent-1', networks }));
    await world.cloud.api.create<StorageClass>(storageClasses, {
      metadata: { name: 'other' },
      provisioner: 'bosh-kubernetes.io/local',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    });
  });
  after(async () => {
    await deleteVm(world.cloud, { vmCid: vm });
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const claimOf = (name: string): Promise<PersistentVolumeClaim> =>
    world.cloud.api.get({ resource: persistentVolumeClaims, namespace, name });

  const names = async (): Promise<string[]> => {
    const lists = await Promise.all(
      [persistentVolumeClaims, volumeSnapshots, pods].map((resource) =>
        world.cloud.api.list<KubernetesObject>(resource, { namespace }),
      ),
    );
    return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  };

  const write = async (disk: string, text: string): Promise<void> => {
    const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `echo ${text} > ${hint}/canary`);
  };

  const read = async (disk: string): Promise<string> => {
    const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    return (await world.inVm(vm, `cat ${hint}/canary`)).trim();
  };

  for (const means of ['a snapshot', 'a clone']) {
    test(`a disk moves to another class by ${means}, through a pod that need not run, with its content`, async () => {
      if (means === 'a clone') {
        await world.cloud.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
      }
      const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {} });
      await write(disk, 'alive');
      await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
      const copy = await updateDisk(world.cloud, {
        diskCid: disk,
        sizeMiB: 32,
        cloudProperties: { storage_class: 'other' },
      });
      assert.ok(copy !== null);
      assert.deepEqual((await names()).toSorted(), [copy, vm].toSorted());
      assert.equal(await read(copy), 'alive');
      await detachDisk(world.cloud, { vmCid: vm, diskCid: copy });

      await resizeDisk(world.cloud, { diskCid: copy, sizeMiB: 64 });
      assert.equal((await claimOf(copy)).status?.capacity?.['storage'], '64Mi');
      assert.equal(await read(copy), 'alive');
      await detachDisk(world.cloud, { vmCid: vm, diskCid: copy });
      await deleteDisk(world.cloud, { diskCid: copy });
    });
  }

  test('a snapshot of an attached disk has its content of then, and outlives it', async () => {
    await world.cloud.api.create(volumeSnapshotClasses, {
      metadata: { name: 'again' },
      driver: 'bosh-kubernetes.io/local',
      deletionPolicy: 'Delete',
    } as KubernetesObject);
    const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: { snapshot_class: 'again' } });
    await write(disk, 'then');
    const snapshot = await snapshotDisk(world.cloud, { diskCid: disk, metadata: { deployment: 'd' } });
    await write(disk, 'now');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteDisk(world.cloud, { diskCid: disk });

    // only an operator restores a snapshot: the contract has no verb for it
    const restored = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {} });
    const claim = await claimOf(restored);
    await deleteDisk(world.cloud, { diskCid: restored });
    const { name, namespace: where, labels = {} } = claim.metadata;
    await world.cloud.api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
      metadata: { name, namespace: where, labels },
      spec: {
        ...claim.spec,
        dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshot },
      },
    });
    assert.equal(await read(restored), 'then');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: restored });
    await deleteSnapshot(world.cloud, { snapshotCid: snapshot });
    assert.equal(await read(restored), 'then');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: restored });
    await deleteDisk(world.cloud, { diskCid: restored });
    assert.deepEqual(await names(), [vm]);
    assert.deepEqual(await readdir(join(world.directory, 'volumes', '.snapshots')), []);
    // a volume is deleted a moment after its claim; the test's own deadline limits this
    while ((await volumesLeft()).length > 0) await world.cloud.clock.sleep(50);
  });

  /** Returns the volumes of disks; a VM may have a volume of its own. */
  const volumesLeft = async (): Promise<string[]> => {
    const { items } = await world.cloud.api.list<
      KubernetesObject & { spec: { claimRef?: { name?: string } } }
    >(persistentVolumes);
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ spec }) => spec.claimRef?.name ?? '')
      .filter((name) => name.startsWith('disk-'));
  };
});
