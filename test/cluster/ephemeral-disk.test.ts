import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { persistentVolumeClaims } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';

describeCluster('/var/vcap/data on a class of its own', (world) => {
  test('a full volume returns ENOSPC; the VM is not evicted, and its claim is deleted with it', async () => {
    const properties = { ephemeral_disk: { size: 64, ...world().diskProperties('loop-wait') } };
    const vm = await world().newVm({ properties });
    const full = await world().exec(vm, 'LC_ALL=C dd if=/dev/zero of=/var/vcap/data/full bs=1M count=512');
    assert.notEqual(full.exitCode, 0);
    assert.match(full.stderr, /No space left on device/u);
    await world().inVm(vm, 'test "$(stat -c %s /var/vcap/data/full)" -lt 67108864 && echo ok > /tmp/alive');
    await world().inVm(vm, 'rm /var/vcap/data/full && echo again > /var/vcap/data/again');
    const { status } = await world().pod(vm);
    assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.restartCount], ['Running', 0]);
    const claim = { resource: persistentVolumeClaims, namespace: world().namespace, name: `${vm}-data` };
    assert.equal(await world().isThere(claim), true);
    await deleteVm(world().cloud, { vmCid: vm });
    await until('the claim to go with the VM', async () => !(await world().isThere(claim)));
  });
});
