import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { annotation, label } from '../objects/labels.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import {
  createVmRequest,
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
import { verbOf } from '../testing/verb-of.ts';

type TestWorld = Awaited<ReturnType<typeof testCloud>>;
const claimOf = ({ api }: TestWorld, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

test('create_disk makes an unbound claim of exactly that size, unclaimed, in the default class', async (t) => {
  const world = await testCloud(t);
  const cid = await createDisk(world.cloud, { sizeMiB: 1025, cloudProperties: {} });

  const claim = await claimOf(world, cid);
  assert.match(cid, /^disk-[0-9a-f-]{36}$/u);
  assert.deepEqual(claim.spec.resources, { requests: { storage: '1025Mi' } });
  assert.deepEqual(claim.spec.accessModes, ['ReadWriteOnce']);
  assert.equal(claim.metadata.labels?.[label.unclaimed], 'true');
  assert.equal(await hasDisk(world.cloud, { diskCid: cid }), true);
});

test('create_disk takes the storage class, also the empty one of static volumes', async (t) => {
  const world = await testCloud(t);
  for (const storageClass of ['local', '']) {
    const cid = await createDisk(world.cloud, {
      sizeMiB: 1,
      cloudProperties: { storage_class: storageClass },
      vmCid,
    });
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
    await assert.rejects(verbOf('create_disk')(world.cloud, args), rejection('INVALID_ARGUMENT', message));
  }
  assert.deepEqual(await namesLeft(world.api), []);
});

test('has_disk is false for what is no disk', async (t) => {
  const { cloud } = await testCloud(t);
  for (const garbage of ['disk-none', 'nonsense', '', '../secrets', 7, null, `disk-${'x'.repeat(80)}`]) {
    assert.equal(await verbOf('has_disk')(cloud, [garbage]), false);
  }
});

test('attach, list, detach: the hint lies inside the volume; the same pair again gives the same hint', async (t) => {
  const world = await testCloud(t, { kubernetes: { kubelet_root_dir: '/data/kubelet/' } });
  const { cloud, api } = world;
  await createVm(cloud, createVmRequest());
  const disks = [
    await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid }),
    await createDisk(cloud, { sizeMiB: 128, cloudProperties: {}, vmCid }),
  ];
  for (const disk of disks) {
    const hint = await attachDisk(cloud, { vmCid, diskCid: disk });
    assert.equal(hint, `/warden-cpi-dev/disks/${disk}/store`);
    assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), hint);
    assert.equal((await claimOf(world, disk)).metadata.labels?.[label.unclaimed], undefined);
  }
  assert.deepEqual((await getDisks(cloud, { vmCid })).toSorted(), disks.toSorted());

  const vm = await api.get<Pod>({ resource: pods, namespace, name: vmCid });
  const attachment = await api.get<Pod>({ resource: pods, namespace, name: `attach-${disks[0] ?? ''}` });
  assert.equal(attachment.metadata.ownerReferences, undefined);
  assert.equal(attachment.spec.terminationGracePeriodSeconds, 31_536_000);
  assert.equal(attachment.spec.containers[0]?.image, vm.spec.containers[0]?.image);
  assert.deepEqual(attachment.spec.volumes?.find(({ name }) => name === 'disks')?.hostPath, {
    path: `/data/kubelet/pods/${vm.metadata.uid}/volumes/kubernetes.io~empty-dir/hub/disks`,
    type: 'Directory',
  });

  for (const disk of disks) await detachDisk(cloud, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  assert.equal(await detachDisk(cloud, { vmCid, diskCid: disks[0] ?? '' }), null);
});

test('detach_disk of a disk in use: an error that says by whom, and it is still attached', async (t) => {
  const { cloud, node } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  node.busyDisks.add(disk);

  await assert.rejects(
    detachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /process 7 has it mounted at \/var\/vcap\/store/u),
  );
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${disk}/store`);
  await node.release(disk);
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test('attach_disk after a detach that was killed between release and deletion puts the disk back', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const dying = { ...cloud, api: crashingApi(api, 1, 'before') };
  await assert.rejects(detachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
  assert.deepEqual([...node.releasedDisks], [disk]);

  await attachDisk(cloud, { vmCid, diskCid: disk });
  assert.deepEqual([...node.releasedDisks], []);
});

test('delete_disk: attached is an error and loses nothing; missing and garbage are success', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY', new RegExp(vmCid, 'u')));
  assert.equal(await hasDisk(cloud, { diskCid: disk }), true);

  await detachDisk(cloud, { vmCid, diskCid: disk });
  await deleteDisk(cloud, { diskCid: disk });
  await deleteDisk(cloud, { diskCid: disk });
  await deleteDisk(cloud, { diskCid: 'not a disk' });
  assert.equal(
    (await namesLeft(api)).some((name) => name.includes('disk-')),
    false,
  );
});

test('a disk of one VM is not attached to another; after delete_vm it is', async (t) => {
  const { cloud } = await testCloud(t);
  const other = createVmRequest({ agentId: 'other', networks: { default: { type: 'dynamic' } } });
  await createVm(cloud, createVmRequest());
  const [otherCid] = await createVm(cloud, other);
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });

  await assert.rejects(
    attachDisk(cloud, { vmCid: otherCid, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(`^disk '${disk}' is attached to VM '${vmCid}'`, 'u')),
  );
  await assert.rejects(detachDisk(cloud, { vmCid: otherCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  await deleteVm(cloud, { vmCid });
  assert.equal(
    await attachDisk(cloud, { vmCid: otherCid, diskCid: disk }),
    `/warden-cpi-dev/disks/${disk}/store`,
  );
});

test('a verb that meets a VM on its way out lets go of its disks', async (t) => {
  for (const meet of [
    (cloud: CallContext) => hasVm(cloud, { vmCid }),
    (cloud: CallContext) => getDisks(cloud, { vmCid }),
    (cloud: CallContext) => setVmMetadata(cloud, { vmCid, metadata: {} }),
    (cloud: CallContext, disk: string) =>
      assert.rejects(attachDisk(cloud, { vmCid, diskCid: disk }), rejection('VM_NOT_FOUND')),
    (cloud: CallContext) => assert.rejects(rebootVm(cloud, { vmCid }), rejection('VM_NOT_FOUND')),
  ]) {
    const { cloud, api } = await testCloud(t);
    await createVm(cloud, createVmRequest());
    const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
    await attachDisk(cloud, { vmCid, diskCid: disk });
    const reference = { resource: pods, namespace, name: vmCid };
    const { uid } = (await api.get<Pod>(reference)).metadata;
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
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await api.delete({ resource: pods, namespace, name: vmCid });
  const [next] = await createVm(cloud, createVmRequest({ agentId: 'next' }));
  assert.equal(next, 'vm-next');
  assert.equal((await namesLeft(api)).includes(`pods ${vmCid}`), false);
  assert.deepEqual([...node.busyDisks], []);
});

test('what is missing has its own error', async (t) => {
  const { cloud } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await assert.rejects(attachDisk(cloud, { vmCid: 'vm-none', diskCid: disk }), rejection('VM_NOT_FOUND'));
  await assert.rejects(attachDisk(cloud, { vmCid: 'garbage', diskCid: disk }), rejection('VM_NOT_FOUND'));
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: 'disk-none' }), rejection('DISK_NOT_FOUND'));
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  await assert.rejects(detachDisk(cloud, { vmCid: 'vm-none', diskCid: disk }), rejection('VM_NOT_FOUND'));
  await assert.rejects(getDisks(cloud, { vmCid: 'vm-none' }), rejection('VM_NOT_FOUND'));
  await assert.rejects(
    setDiskMetadata(cloud, { diskCid: 'disk-none', metadata: {} }),
    rejection('DISK_NOT_FOUND'),
  );
});

test('an attachment that cannot mount is taken back, with its own words, and the VM is unharmed', async (t) => {
  const { cloud, node } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  node.brokenDisks.set(disk, 'the hub of the VM is not a tmpfs');
  await assert.rejects(
    attachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('DISK_NOT_ATTACHABLE', /not a tmpfs/u),
  );
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);

  node.brokenDisks.clear();
  node.unschedulable = 'volume node affinity conflict';
  await assert.rejects(
    attachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('UNSCHEDULABLE', /volume node affinity conflict/u),
  );
  await node.makeRoom();
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${disk}/store`);
});

test('metadata: labels where they can be, all of it in an annotation, what is gone goes; it claims the disk', async (t) => {
  const world = await testCloud(t);
  const disk = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: {} });
  const first = {
    director: 'my director',
    deployment: 'd/1',
    instance_group: 'g',
    tag: 'ünï',
    nothing: null,
    n: 7,
  };
  await setDiskMetadata(world.cloud, { diskCid: disk, metadata: first });
  const { labels = {}, annotations = {} } = (await claimOf(world, disk)).metadata;
  assert.deepEqual(JSON.parse(annotations[annotation.metadata] ?? ''), first);
  assert.equal(labels['bosh.cloudfoundry.org/instance-group'], 'g');
  assert.match(labels['bosh.cloudfoundry.org/deployment'] ?? '', /^d-1-x[0-9a-f]{20}$/u);
  assert.equal(labels[label.unclaimed], undefined);

  await setDiskMetadata(world.cloud, { diskCid: disk, metadata: { director: 'other' } });
  const then = (await claimOf(world, disk)).metadata.labels ?? {};
  assert.equal(then['bosh.cloudfoundry.org/director'], 'other');
  assert.equal(then['bosh.cloudfoundry.org/instance-group'], undefined);
});

test('create_disk of a dynamic disk or a block volume is NOT_SUPPORTED before anything is made', async (t) => {
  const { cloud, api } = await testCloud(t);
  for (const properties of [{ name: 'scratch', type: 'merged' }, { volume_mode: 'Block' }]) {
    await assert.rejects(
      createDisk(cloud, { sizeMiB: 64, cloudProperties: properties }),
      (error) => isProductError(error, 'NOT_SUPPORTED') && error.message.includes('no device'),
    );
  }
  await assert.rejects(
    createDisk(cloud, { sizeMiB: 64, cloudProperties: { volume_mode: 'Tape' } }),
    (error) => isProductError(error, 'INVALID_ARGUMENT'),
  );
  assert.deepEqual(await namesLeft(api), []);
  await createDisk(cloud, { sizeMiB: 64, cloudProperties: { volume_mode: 'Filesystem' } });
  await assert.rejects(
    createDisk(cloud, { sizeMiB: 64, cloudProperties: { access_mode: 'ReadWriteMany' } }),
    /access_mode must be/u,
  );
  const cid = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { access_mode: 'ReadWriteOncePod' } });
  const claim = await cloud.api.get<PersistentVolumeClaim>({
    resource: persistentVolumeClaims,
    namespace,
    name: cid,
  });
  assert.deepEqual(claim.spec.accessModes, ['ReadWriteOncePod']);
});
