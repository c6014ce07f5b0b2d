import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../agent/testing/eventually.ts';
import { describeInNamespace, namespaceMode } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';

/**
 * The file that sync_dns leaves for the VM's jobs, bosh-dns among them. A director sends it again only when
 * it changes.
 */
const dnsRecords = '/var/vcap/instance/dns/records.json';

/** The strategy `recreate` on the embedded node: real processes and mounts. */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let cloud: CallContext;
  let count = 0;

  before(async () => {
    world = await EmbeddedWorld.start();
    cloud = world.cloudWith({ attach: 'recreate' });
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const newVm = async (): Promise<string> => {
    count += 1;
    const networks = { default: { type: 'manual', ip: `127.64.8.${count}` } };
    const [cid] = await createVm(cloud, createVmRequest({ agentId: `agent-${count}`, networks }));
    return cid;
  };

  const newDisk = async (vm: string): Promise<{ disk: string; hint: string }> => {
    const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    return { disk, hint: await attachDisk(cloud, { vmCid: vm, diskCid: disk }) };
  };

  /**
   * Does what the agent does when it mounts a disk, and leaves the same files (bosh-agent:
   * platform/linux_platform.go).
   */
  const mount = (vm: string, disk: string, hint: string): Promise<string> =>
    world.inVm(
      vm,
      `mkdir -p /var/vcap/store && mount --bind ${hint} /var/vcap/store && printf ${disk} > /var/vcap/bosh/managed_disk_settings.json &&
       echo '{"${disk}":{"ID":"${disk}"}}' > /var/vcap/bosh/persistent_disk_hints.json`,
    );

  test('a second disk: the VM comes back with its state, its data, its address and the first disk on the store', async () => {
    const vm = await newVm();
    const one = await newDisk(vm);
    await mount(vm, one.disk, one.hint);
    await world.inVm(
      vm,
      `echo kept > /var/vcap/store/canary; echo kept > /var/vcap/data/canary; echo kept > /var/vcap/bosh/update_settings.json
       mkdir -p /var/vcap/instance/dns && echo '{"version":7}' > ${dnsRecords}`,
    );
    const two = await newDisk(vm);
    await eventually('the first disk on the store', () =>
      world.inVm(vm, 'cat /var/vcap/store/canary').catch(() => undefined),
    );
    assert.equal(
      await world.inVm(
        vm,
        'cat /var/vcap/store/canary /var/vcap/data/canary /var/vcap/bosh/update_settings.json',
      ),
      'kept\nkept\nkept\n',
    );
    assert.equal(await world.inVm(vm, `cat ${dnsRecords}`), '{"version":7}\n');
    await world.inVm(vm, `test -d ${two.hint} && echo new > ${two.hint}/canary`);
    assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [one.disk, two.disk]);
    const { status } = await cloud.api.get<Pod>({
      resource: pods,
      namespace,
      name: vm,
    });
    assert.equal(status?.podIP, `127.64.8.${count}`);

    await detachDisk(cloud, { vmCid: vm, diskCid: two.disk });
    await world.inVm(vm, `! test -e ${two.hint}`);
    await eventually('the first disk on the store', () =>
      world.inVm(vm, 'cat /var/vcap/store/canary').catch(() => undefined),
    );
    await deleteVm(cloud, { vmCid: vm });

    const next = await newVm();
    assert.equal(await attachDisk(cloud, { vmCid: next, diskCid: two.disk }), two.hint);
    assert.equal(await world.inVm(next, `cat ${two.hint}/canary`), 'new\n');
    await attachDisk(cloud, { vmCid: next, diskCid: one.disk });
    assert.equal(await world.inVm(next, `cat ${one.hint}/canary`), 'kept\n');
    await deleteVm(cloud, { vmCid: next });
    await Promise.all([deleteDisk(cloud, { diskCid: one.disk }), deleteDisk(cloud, { diskCid: two.disk })]);
  });

  test('the use of a disk is detected: a mount, a directory, an open file', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    const { metadata } = await cloud.api.get({ resource: pods, namespace, name: vm });
    await mount(vm, disk, hint);
    await assert.rejects(
      detachDisk(cloud, { vmCid: vm, diskCid: disk }),
      busy(/mounted at \/var\/vcap\/store/u),
    );
    await world.inVm(vm, 'umount /var/vcap/store; rm /var/vcap/bosh/managed_disk_settings.json');
    for (const use of [
      `(cd ${hint} && exec sleep 1000)`,
      `sleep 1000 < ${hint}/file`,
      // the user namespace of an unprivileged user has one user only
      ...(namespaceMode === 'root'
        ? [`setpriv --reuid 1000 --regid 1000 --clear-groups sleep 1000 3>> ${hint}/file`]
        : []),
    ]) {
      await world.inVm(vm, `: > ${hint}/file; chmod 666 ${hint}/file`);
      const pid = await world.inVm(vm, `${use} > /dev/null 2>&1 & sleep 0.2; echo $!`);
      await assert.rejects(
        detachDisk(cloud, { vmCid: vm, diskCid: disk }),
        busy(/process \d+ \(sleep\) uses it/u),
      );
      await world.inVm(vm, `kill ${pid}`);
    }
    assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [disk]);
    const now = await cloud.api.get({ resource: pods, namespace, name: vm });
    assert.equal(now.metadata.uid, metadata.uid);

    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await attachDisk(cloud, { vmCid: vm, diskCid: disk }), hint);
    await deleteVm(cloud, { vmCid: vm });
    await deleteDisk(cloud, { diskCid: disk });
  });
});

const busy = (message: RegExp) => (error: unknown) => {
  assert.ok(isProductError(error, 'DISK_BUSY'), String(error));
  assert.match(error.message, message);
  return true;
};
