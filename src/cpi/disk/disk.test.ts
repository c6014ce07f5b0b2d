import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { annotation, label } from '../objects/labels.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import {
  createVmArguments,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import type { CallContext } from '../call.ts';
import { waitForDeletion } from '../objects/objects.ts';
import { hasVm } from '../vm/has-vm.ts';
import { rebootVm } from '../vm/reboot-vm.ts';
import { setVmMetadata } from '../vm/set-vm-metadata.ts';
import { attachDisk } from './attach-disk.ts';
import type { PersistentVolumeClaim } from './disks.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { hasDisk } from './has-disk.ts';
import { setDiskMetadata } from './set-disk-metadata.ts';
import { rejection } from '../testing/rejection.ts';

type TestWorld = Awaited<ReturnType<typeof testCloud>>;
const claimOf = ({ api }: TestWorld, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

test('create_disk makes an unbound claim of exactly that size, unclaimed, in the default class', async (t) => {
  const world = await testCloud(t);
  const cid = await createDisk(world.cloud, [1025, {}, null]);

  const claim = await claimOf(world, cid);
  assert.match(cid, /^disk-[0-9a-f-]{36}$/u);
  assert.deepEqual(claim.spec.resources, { requests: { storage: '1025Mi' } });
  assert.deepEqual(claim.spec.accessModes, ['ReadWriteOnce']);
  assert.equal(claim.metadata.labels?.[label.unclaimed], 'true');
  assert.equal(await hasDisk(world.cloud, [cid]), true);
});

test('create_disk takes the storage class, also the empty one of static volumes', async (t) => {
  const world = await testCloud(t);
  for (const storageClass of ['local', '']) {
    const cid = await createDisk(world.cloud, [1, { storage_class: storageClass }, vmCid]);
    assert.equal((await claimOf(world, cid)).spec.storageClassName, storageClass);
  }
});

test('create_disk refuses what it does not know before anything is made', async (t) => {
  const world = await testCloud(t);
  const cases: [unknown[], RegExp][] = [
    [[0, {}, null], /size/u],
    [[1.5, {}, null], /size/u],
    [['64', {}, null], /size/u],
    [[64, { type: 'gp3' }, null], /"type"/u],
    [[64, { storage_class: 7 }, null], /storage_class/u],
    [[64, { storage_class: 'none' }, null], /does not have: "none"/u],
    [[64, [], null], /cloud_properties/u],
  ];
  for (const [args, message] of cases) {
    await assert.rejects(createDisk(world.cloud, args), rejection('INVALID_ARGUMENT', message));
  }
  assert.deepEqual(await namesLeft(world.api), []);
});

test('has_disk is false for what is no disk', async (t) => {
  const { cloud } = await testCloud(t);
  for (const garbage of ['disk-none', 'nonsense', '', '../secrets', 7, null, `disk-${'x'.repeat(80)}`]) {
    assert.equal(await hasDisk(cloud, [garbage]), false);
  }
});

test('attach, list, detach: the hint lies inside the volume; the same pair again gives the same hint', async (t) => {
  const world = await testCloud(t, { kubernetes: { kubelet_root_dir: '/data/kubelet/' } });
  const { cloud, api } = world;
  await createVm(cloud, createVmArguments());
  const disks = [await createDisk(cloud, [64, {}, vmCid]), await createDisk(cloud, [128, {}, vmCid])];
  for (const disk of disks) {
    const hint = await attachDisk(cloud, [vmCid, disk]);
    assert.equal(hint, `/warden-cpi-dev/disks/${disk}/store`);
    assert.equal(await attachDisk(cloud, [vmCid, disk]), hint);
    assert.equal((await claimOf(world, disk)).metadata.labels?.[label.unclaimed], undefined);
  }
  assert.deepEqual((await getDisks(cloud, [vmCid])).toSorted(), disks.toSorted());

  const vm = await api.get<Pod>({ resource: pods, namespace, name: vmCid });
  const attachment = await api.get<Pod>({ resource: pods, namespace, name: `attach-${disks[0] ?? ''}` });
  assert.equal(attachment.metadata.ownerReferences, undefined);
  assert.equal(attachment.spec.terminationGracePeriodSeconds, 31_536_000);
  assert.equal(attachment.spec.containers[0]?.image, vm.spec.containers[0]?.image);
  assert.deepEqual(attachment.spec.volumes?.find(({ name }) => name === 'disks')?.hostPath, {
    path: `/data/kubelet/pods/${vm.metadata.uid ?? ''}/volumes/kubernetes.io~empty-dir/hub/disks`,
    type: 'Directory',
  });

  for (const disk of disks) await detachDisk(cloud, [vmCid, disk]);
  assert.deepEqual(await getDisks(cloud, [vmCid]), []);
  assert.equal(await detachDisk(cloud, [vmCid, disks[0]]), null);
});

test('detach_disk of a disk in use: an error that says by whom, and it is still attached', async (t) => {
  const { cloud, node } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await attachDisk(cloud, [vmCid, disk]);
  node.busyDisks.add(disk);

  await assert.rejects(
    detachDisk(cloud, [vmCid, disk]),
    rejection('DISK_BUSY', /process 7 has it mounted at \/var\/vcap\/store/u),
  );
  assert.deepEqual(await getDisks(cloud, [vmCid]), [disk]);
  assert.equal(await attachDisk(cloud, [vmCid, disk]), `/warden-cpi-dev/disks/${disk}/store`);
  await node.release(disk);
  await detachDisk(cloud, [vmCid, disk]);
});

test('attach_disk after a detach that was killed between release and deletion puts the disk back', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await attachDisk(cloud, [vmCid, disk]);
  const dying = { ...cloud, api: crashingApi(api, 1, 'before') };
  await assert.rejects(detachDisk(dying, [vmCid, disk]), (error) => error instanceof Crash);
  assert.deepEqual([...node.releasedDisks], [disk]);

  await attachDisk(cloud, [vmCid, disk]);
  assert.deepEqual([...node.releasedDisks], []);
});

test('delete_disk: attached is an error and loses nothing; missing and garbage are success', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await attachDisk(cloud, [vmCid, disk]);
  await assert.rejects(deleteDisk(cloud, [disk]), rejection('DISK_BUSY', new RegExp(vmCid, 'u')));
  assert.equal(await hasDisk(cloud, [disk]), true);

  await detachDisk(cloud, [vmCid, disk]);
  await deleteDisk(cloud, [disk]);
  await deleteDisk(cloud, [disk]);
  await deleteDisk(cloud, ['not a disk']);
  assert.equal(
    (await namesLeft(api)).some((name) => name.includes('disk-')),
    false,
  );
});

test('a disk of one VM is not attached to another; after delete_vm it is', async (t) => {
  const { cloud } = await testCloud(t);
  const other = createVmArguments({ agentId: 'other', networks: { default: { type: 'dynamic' } } });
  await createVm(cloud, createVmArguments());
  const [otherCid] = await createVm(cloud, other);
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await attachDisk(cloud, [vmCid, disk]);

  await assert.rejects(
    attachDisk(cloud, [otherCid, disk]),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(`^disk '${disk}' is attached to VM '${vmCid}'`, 'u')),
  );
  await assert.rejects(detachDisk(cloud, [otherCid, disk]), rejection('DISK_NOT_ATTACHED'));
  await deleteVm(cloud, [vmCid]);
  assert.equal(await attachDisk(cloud, [otherCid, disk]), `/warden-cpi-dev/disks/${disk}/store`);
});

test('a verb that meets a VM on its way out lets go of its disks', async (t) => {
  for (const meet of [
    (cloud: CallContext) => hasVm(cloud, [vmCid]),
    (cloud: CallContext) => getDisks(cloud, [vmCid]),
    (cloud: CallContext) => setVmMetadata(cloud, [vmCid, {}]),
    (cloud: CallContext, disk: string) =>
      assert.rejects(attachDisk(cloud, [vmCid, disk]), rejection('VM_NOT_FOUND')),
    (cloud: CallContext) => assert.rejects(rebootVm(cloud, [vmCid]), rejection('VM_NOT_FOUND')),
  ]) {
    const { cloud, api } = await testCloud(t);
    await createVm(cloud, createVmArguments());
    const disk = await createDisk(cloud, [64, {}, vmCid]);
    await attachDisk(cloud, [vmCid, disk]);
    const reference = { resource: pods, namespace, name: vmCid };
    const { uid = '' } = (await api.get<Pod>(reference)).metadata;
    await api.delete(reference);
    await meet(cloud, disk);
    await waitForDeletion(cloud, { reference, uid, deadlineSeconds: 10, what: 'the VM' });
    assert.equal(
      (await namesLeft(api)).some((name) => name.includes('attach-')),
      false,
    );
  }
});

test('an address is taken over when its former VM is gone, which is waited for', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await attachDisk(cloud, [vmCid, disk]);
  await api.delete({ resource: pods, namespace, name: vmCid });
  const [next] = await createVm(cloud, createVmArguments({ agentId: 'next' }));
  assert.equal(next, 'vm-next');
  assert.equal((await namesLeft(api)).includes(`pods ${vmCid}`), false);
  assert.deepEqual([...node.busyDisks], []);
});

test('what is missing has its own error', async (t) => {
  const { cloud } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  await assert.rejects(attachDisk(cloud, ['vm-none', disk]), rejection('VM_NOT_FOUND'));
  await assert.rejects(attachDisk(cloud, ['garbage', disk]), rejection('VM_NOT_FOUND'));
  await assert.rejects(attachDisk(cloud, [vmCid, 'disk-none']), rejection('DISK_NOT_FOUND'));
  await assert.rejects(detachDisk(cloud, [vmCid, disk]), rejection('DISK_NOT_ATTACHED'));
  await assert.rejects(detachDisk(cloud, ['vm-none', disk]), rejection('VM_NOT_FOUND'));
  await assert.rejects(getDisks(cloud, ['vm-none']), rejection('VM_NOT_FOUND'));
  await assert.rejects(setDiskMetadata(cloud, ['disk-none', {}]), rejection('DISK_NOT_FOUND'));
});

test('an attachment that cannot mount is taken back, with its own words, and the VM is unharmed', async (t) => {
  const { cloud, node } = await testCloud(t);
  await createVm(cloud, createVmArguments());
  const disk = await createDisk(cloud, [64, {}, vmCid]);
  node.brokenDisks.set(disk, 'the hub of the VM is not a tmpfs');
  await assert.rejects(attachDisk(cloud, [vmCid, disk]), rejection('DISK_NOT_ATTACHABLE', /not a tmpfs/u));
  assert.deepEqual(await getDisks(cloud, [vmCid]), []);

  node.brokenDisks.clear();
  node.unschedulable = 'volume node affinity conflict';
  await assert.rejects(
    attachDisk(cloud, [vmCid, disk]),
    rejection('UNSCHEDULABLE', /volume node affinity conflict/u),
  );
  await node.makeRoom();
  assert.equal(await attachDisk(cloud, [vmCid, disk]), `/warden-cpi-dev/disks/${disk}/store`);
});

test('metadata: labels where they can be, all of it in an annotation, what is gone goes; it claims the disk', async (t) => {
  const world = await testCloud(t);
  const disk = await createDisk(world.cloud, [64, {}, null]);
  const first = {
    director: 'my director',
    deployment: 'd/1',
    instance_group: 'g',
    tag: 'ünï',
    nothing: null,
    n: 7,
  };
  await setDiskMetadata(world.cloud, [disk, first]);
  const { labels = {}, annotations = {} } = (await claimOf(world, disk)).metadata;
  assert.deepEqual(JSON.parse(annotations[annotation.metadata] ?? ''), first);
  assert.equal(labels['bosh.cloudfoundry.org/instance-group'], 'g');
  assert.match(labels['bosh.cloudfoundry.org/deployment'] ?? '', /^d-1-x[0-9a-f]{20}$/u);
  assert.equal(labels[label.unclaimed], undefined);

  await setDiskMetadata(world.cloud, [disk, { director: 'other' }]);
  const then = (await claimOf(world, disk)).metadata.labels ?? {};
  assert.equal(then['bosh.cloudfoundry.org/director'], 'other');
  assert.equal(then['bosh.cloudfoundry.org/instance-group'], undefined);
});

test('create_disk of a dynamic disk or a block volume is NOT_SUPPORTED before anything is made', async (t) => {
  const { cloud, api } = await testCloud(t);
  for (const properties of [{ name: 'scratch', type: 'merged' }, { volume_mode: 'Block' }]) {
    await assert.rejects(
      createDisk(cloud, [64, properties, null]),
      (error) => isProductError(error, 'NOT_SUPPORTED') && error.message.includes('no device'),
    );
  }
  await assert.rejects(createDisk(cloud, [64, { volume_mode: 'Tape' }, null]), (error) =>
    isProductError(error, 'INVALID_ARGUMENT'),
  );
  assert.deepEqual(await namesLeft(api), []);
  await createDisk(cloud, [64, { volume_mode: 'Filesystem' }, null]);
  await assert.rejects(
    createDisk(cloud, [64, { access_mode: 'ReadWriteMany' }, null]),
    /access_mode has to be/u,
  );
  const cid = await createDisk(cloud, [64, { access_mode: 'ReadWriteOncePod' }, null]);
  const claim = await cloud.api.get<PersistentVolumeClaim>({
    resource: persistentVolumeClaims,
    namespace,
    name: cid,
  });
  assert.deepEqual(claim.spec.accessModes, ['ReadWriteOncePod']);
});
