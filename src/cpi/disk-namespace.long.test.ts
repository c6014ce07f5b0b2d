import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { namespaces, persistentVolumeClaims, pods } from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { strategyOf } from './disk/attach/strategy.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { hasDisk } from './disk/has-disk.ts';
import { setDiskMetadata } from './disk/set-disk-metadata.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import type { CreateVmRequest } from './protocol/methods.ts';

const disks = 'bosh-disks';

/** VMs in a namespace that enforces Pod Security baseline, on a node that really runs and mounts. */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let count = 0;

  before(async () => {
    world = await EmbeddedWorld.start();
    const enforce = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    await world.api.patch({ resource: namespaces, name: namespace }, { metadata: { labels: enforce } });
    await world.api.create(namespaces, { metadata: { name: disks } });
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  /** Starts a process that has its working directory on a disk; prints its pid. */
  const use = (hint: string): string =>
    `(cd ${hint} && exec sleep 1000) > /dev/null 2>&1 & sleep 0.3; echo $!`;
  const vmArguments = (): CreateVmRequest => {
    count += 1;
    return createVmRequest({
      agentId: `agent-${count}`,
      properties: { profile: 'baseline' },
      networks: { default: { type: 'manual', ip: `127.64.10.${count}` } },
    });
  };
  const namesIn = async (place: string): Promise<string[]> => {
    const lists = await Promise.all(
      [pods, persistentVolumeClaims].map((resource) =>
        world.api.list<KubernetesObject>(resource, { namespace: place }),
      ),
    );
    return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).toSorted();
  };

  test('with a namespace for disks everything but the VM lives there, and a disk is attached to the running VM', async () => {
    const cloud = world.cloudWith({ attach: 'auto', disk_namespace: disks });
    const [vm] = await createVm(cloud, vmArguments());
    const [other] = await createVm(cloud, vmArguments());
    assert.equal(strategyOf(await world.api.get({ resource: pods, namespace, name: vm })), 'hot');
    const { uid } = (await world.api.get<Pod>({ resource: pods, namespace, name: vm })).metadata;
    const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await attachDisk(cloud, { vmCid: vm, diskCid: disk }), hint);
    assert.deepEqual(await namesIn(disks), [`attach-${disk}`, disk].toSorted());
    assert.deepEqual(await namesIn(namespace), [vm, other].toSorted());

    await world.inVm(vm, `echo kept > ${hint}/canary`);
    await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'd' } });
    assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
    assert.equal(await hasDisk(world.cloud, { diskCid: disk }), false);
    assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [disk]);
    await assert.rejects(attachDisk(cloud, { vmCid: other, diskCid: disk }), (error) =>
      isProductError(error, 'DISK_ATTACHED_ELSEWHERE'),
    );
    await assert.rejects(deleteDisk(cloud, { diskCid: disk }), (error) => isProductError(error, 'DISK_BUSY'));
    const pid = await world.inVm(vm, use(hint));
    await assert.rejects(detachDisk(cloud, { vmCid: vm, diskCid: disk }), (error) =>
      isProductError(error, 'DISK_BUSY'),
    );
    await world.inVm(vm, `kill ${pid}`);
    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
    assert.equal((await world.api.get({ resource: pods, namespace, name: vm })).metadata.uid, uid);

    await attachDisk(cloud, { vmCid: other, diskCid: disk });
    assert.equal(await world.inVm(other, `cat ${hint}/canary`), 'kept\n');
    await deleteVm(cloud, { vmCid: other });
    await deleteVm(cloud, { vmCid: vm });
    assert.deepEqual(await namesIn(disks), [disk]);
    await deleteDisk(cloud, { diskCid: disk });
    assert.deepEqual(await namesIn(disks), []);
  });

  test('without one auto is recreate, which needs nothing that baseline forbids', async () => {
    const cloud = world.cloudWith({ attach: 'auto' });
    const [vm] = await createVm(cloud, vmArguments());
    assert.equal(strategyOf(await world.api.get({ resource: pods, namespace, name: vm })), 'recreate');
    const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `echo kept > ${hint}/canary; echo kept > /var/vcap/bosh/update_settings.json`);
    const second = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    await attachDisk(cloud, { vmCid: vm, diskCid: second });
    assert.equal(
      await world.inVm(vm, `cat ${hint}/canary /var/vcap/bosh/update_settings.json`),
      'kept\nkept\n',
    );
    const pid = await world.inVm(vm, use(hint));
    await assert.rejects(detachDisk(cloud, { vmCid: vm, diskCid: disk }), (error) =>
      isProductError(error, 'DISK_BUSY'),
    );
    await world.inVm(vm, `kill ${pid}`);
    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
    assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [second]);
    await deleteVm(cloud, { vmCid: vm });
    assert.deepEqual(await namesIn(namespace), [disk, second].toSorted());
    await Promise.all([deleteDisk(cloud, { diskCid: disk }), deleteDisk(cloud, { diskCid: second })]);
  });
});
