import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { persistentVolumeClaims, pods, secrets, services } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { stopWriting, storeOf, writingVm } from './support/disk-subject.ts';

describeCluster('what a VM leaves', (world) => {
  test('delete_vm leaves nothing: no pod, secret, service, mount or directory on the node', async () => {
    const { api, namespace } = world();
    const properties = { services: [{ name: 'left-over', ports: [{ port: 80 }] }] };
    const { vm, disks } = await writingVm(world(), ['loop'], { properties });
    const [disk = ''] = disks;
    const node = await world().nodeOf(vm);
    const uids = [
      (await world().pod(vm)).metadata.uid ?? '',
      (await world().pod(`attach-${disk}`)).metadata.uid ?? '',
    ];
    await stopWriting(world(), vm, storeOf(0));
    await detachDisk(world().cloud, [vm, disk]);
    await deleteVm(world().cloud, [vm]);
    await deleteDisk(world().cloud, [disk]);
    for (const resource of [pods, secrets, services, persistentVolumeClaims]) {
      await until(`the ${resource.plural} to go`, async () => {
        const { items } = await api.list(resource, { namespace });
        return items.length === 0;
      });
    }
    const kubelet = world().cluster.kubeletRootDirectory;
    for (const uid of uids) {
      await until(`the directory of pod ${uid} to go`, async () => {
        const { exitCode } = await node.run(['test', '-e', `${kubelet}/pods/${uid}`]);
        return exitCode === 1;
      });
      const { exitCode, stdout } = await node.run(['grep', uid, '/proc/self/mountinfo']);
      assert.equal(exitCode, 1, stdout);
    }
  });
});
