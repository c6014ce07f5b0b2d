import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { readByVcap, whoReadsToken } from '../../test/support/who-reads-token.ts';
import { rootCertificateName } from '../../embedded-cluster/api-server/admission/admit-pod.ts';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import { isProductError } from '../errors/product-error.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import {
  configMaps,
  persistentVolumeClaims,
  pods,
  secrets,
  serviceAccounts,
  services,
} from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { busy, embeddedVms } from './testing/embedded-vms.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';

/** The verbs on the embedded node: real processes, real mounts, real propagation. */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  const { newVm, newDisk, podOf, mountsOf } = embeddedVms(() => world, '127.64.7');

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  test('a VM has its settings, its state and its agent', async () => {
    const vm = await newVm();
    const settings: unknown = JSON.parse(
      await world.inVm(vm, 'cat /var/vcap/bosh/warden-cpi-agent-env.json'),
    );
    assert.equal((settings as { agent_id: string }).agent_id, 'agent-1');
    assert.equal(
      (await world.inVm(vm, 'stat -Lc %a /var/vcap/bosh/warden-cpi-agent-env.json')).trim(),
      '600',
    );
    assert.match(await world.inVm(vm, 'cat /var/vcap/bosh/etc/operating_system'), /host-root/u);
    assert.match(await world.inVm(vm, 'tr "\\0" " " < /proc/1/cmdline'), /entry/u);
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('a VM of a size runs; one with limits is refused with the reason, and nothing of it is left', async () => {
    const networks = { default: { type: 'dynamic' } };
    const create = (agentId: string, properties: object): ReturnType<typeof createVm> =>
      createVm(world.cloud, createVmRequest({ agentId, networks, properties }));
    const [vm] = await create('sized', { cpu: '50m', memory: 64, ephemeral_disk: { size: 32 } });
    assert.deepEqual((await podOf(vm)).spec.containers[0]?.resources?.requests, {
      ...{ cpu: '50m', memory: '64Mi', 'ephemeral-storage': '32Mi' },
    });
    await deleteVm(world.cloud, { vmCid: vm });
    await assert.rejects(
      create('limited', { resources: { limits: { memory: '1Gi' } } }),
      (error) =>
        isProductError(error, 'VM_CREATION_FAILED') &&
        error.message.includes('has resource limits, which the embedded node cannot enforce'),
    );
    await assert.rejects(podOf('vm-limited'), (error) => isApiError(error, 404));
  });

  test("the token of a VM's service account is read by root and by vcap, which CPI jobs run as, alone", async (t) => {
    if (process.getuid?.() !== 0) return t.skip('needs root: a VM has users of its own');
    const authority: object = {
      metadata: { namespace, name: rootCertificateName },
      data: { 'ca.crt': 'pem' },
    };
    await world.cloud.api.create(configMaps, authority as KubernetesObject);
    await world.cloud.api.create(serviceAccounts, { metadata: { namespace, name: 'jobs' } });
    const vm = await newVm(world.cloud, { service_account: 'jobs' });
    await until('the agent', async () => (await pidsOf(vm, 'sleep 1000000')) || false);
    assert.equal(await world.inVm(vm, whoReadsToken), readByVcap);
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('a killed agent comes back; PID 1 reaps what it left', async () => {
    const vm = await newVm();
    const agent = 'sleep 1000000';
    const first = await until('the agent', async () => (await pidsOf(vm, agent)) || false);
    await world.inVm(vm, `(sleep 0.1 &); kill -9 ${first}`);
    const second = await until(
      'another agent',
      async () => (await pidsOf(vm, agent)).replace(first, '') || false,
    );
    assert.notEqual(second, first);
    await until(
      'zombies to be reaped',
      async () => (await world.inVm(vm, 'grep -s "^State:.Z" /proc/[0-9]*/status; true')) === '',
    );
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('a disk in the running VM: a disk in use is not detached, and a released disk moves to another VM with its content', async () => {
    const [vm, other] = [await newVm(), await newVm()];
    const { disk, hint } = await newDisk(vm);
    await world.inVm(
      vm,
      `mkdir -p /var/vcap/store && mount --bind ${hint} /var/vcap/store && echo alive > /var/vcap/store/canary`,
    );

    await assert.rejects(detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), busy(/\/var\/vcap\/store/u));
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    await world.inVm(
      vm,
      `umount /var/vcap/store && (cd ${hint} && exec sleep 1000) > /dev/null 2>&1 & sleep 0.3`,
    );
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), busy(/busy/u));
    await world.inVm(vm, `kill ${await pidsOf(vm, 'sleep 1000')}`);

    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `! test -e ${hint}`);
    assert.equal(await attachDisk(world.cloud, { vmCid: other, diskCid: disk }), hint);
    assert.equal(await world.inVm(other, `cat ${hint}/canary`), 'alive\n');
    await Promise.all([deleteVm(world.cloud, { vmCid: vm }), deleteVm(world.cloud, { vmCid: other })]);
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  for (const attach of ['hot', 'recreate']) {
    test(`${attach}: deleting the Secret of a VM deletes all of the VM and none of its disks`, async () => {
      const cloud = world.cloudWith({ attach });
      const vm = await newVm(cloud, { services: [{ name: 'along', selector: 'vm', ports: [{ port: 80 }] }] });
      const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
      const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
      await world.inVm(vm, `echo alive > ${hint}/canary`);
      await cloud.api.delete({ resource: secrets, namespace, name: vm });
      await until('the VM to be gone', async () => !(await exists(vm)), 40_000);
      await until('all that it owned to be gone', async () => {
        const lists = await Promise.all(
          [services, persistentVolumeClaims].map((resource) => cloud.api.list(resource, { namespace })),
        );
        const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
        return !names.some((name) => name === 'along' || name.startsWith(vm));
      });
      const next = await newVm(cloud);
      await attachDisk(cloud, { vmCid: next, diskCid: disk });
      assert.equal(await world.inVm(next, `cat ${hint}/canary`), 'alive\n');
      await deleteVm(cloud, { vmCid: vm });
      await deleteVm(cloud, { vmCid: next });
      await deleteDisk(cloud, { diskCid: disk });
    });
  }

  test('a volume that is a file system of its own: whether it is in use is detected', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    const unmount = await world.mountOnVolume(disk);

    assert.equal(await attachDisk(world.cloud, { vmCid: vm, diskCid: disk }), hint);
    await world.inVm(vm, `mkdir -p ${hint}/part /mnt/part && mount --bind ${hint}/part /mnt/part`);
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), busy(/\/mnt\/part/u));
    await world.inVm(vm, 'umount /mnt/part');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await unmount();
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('two disks at once; one is detached while the other is used', async () => {
    const vm = await newVm();
    const [one, two] = [await newDisk(vm), await newDisk(vm)];
    await world.inVm(vm, `mkdir -p /var/vcap/store && mount --bind ${one.hint} /var/vcap/store`);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: two.disk });
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [one.disk]);
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('after its container was restarted the VM has the disk on the store again, before the agent starts', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    // the agent knows the cid with its context, paths do not
    await noteMounted(vm, `arn:cluster/east:${disk}`, hint);
    await world.inVm(
      vm,
      'echo kept > /var/vcap/store/canary; mkdir -p /var/vcap/data/sys/run/j; echo 1 > /var/vcap/data/sys/run/j/j.pid',
    );
    await killContainer(vm);
    assert.equal(await world.inVm(vm, 'cat /var/vcap/store/canary'), 'kept\n');
    await world.inVm(vm, '! test -e /var/vcap/data/sys/run/j/j.pid');
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('delete_vm while a job writes: the VM is deleted, the disk stays intact', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await world.inVm(
      vm,
      `echo alive > ${hint}/canary; (exec >> ${hint}/log; while date; do sleep 0.01; done) > /dev/null 2>&1 &`,
    );
    await deleteVm(world.cloud, { vmCid: vm });
    await assert.rejects(podOf(vm), (error) => isApiError(error, 404));

    const next = await newVm();
    await attachDisk(world.cloud, { vmCid: next, diskCid: disk });
    assert.equal(await world.inVm(next, `cat ${hint}/canary; test -s ${hint}/log`), 'alive\n');
    await deleteVm(world.cloud, { vmCid: next });
  });

  test('a VM pod deleted by hand: its attachment pod unmounts the disk, which is intact and free', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await noteMounted(vm, disk, hint);
    await world.inVm(
      vm,
      `echo alive > /var/vcap/store/canary;
         (exec >> /var/vcap/store/log; while date; do sleep 0.01; done) > /dev/null 2>&1 &`,
    );
    await world.cloud.api.delete({ resource: pods, namespace, name: vm });
    await until('the VM to be gone', async () => !(await exists(vm)), 40_000);

    const next = await newVm();
    await attachDisk(world.cloud, { vmCid: next, diskCid: disk });
    assert.equal(await world.inVm(next, `cat ${hint}/canary`), 'alive\n');
    await Promise.all([deleteVm(world.cloud, { vmCid: vm }), deleteVm(world.cloud, { vmCid: next })]);
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('after a restart of the node the same VM runs with the same disk on its store', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await noteMounted(vm, disk, hint);
    await world.inVm(vm, 'echo kept > /var/vcap/store/canary');
    const { metadata } = await podOf(vm);
    await world.restart();

    await until(
      'its store',
      () => world.inVm(vm, 'cat /var/vcap/store/canary').catch(() => false as const),
      60_000,
    );
    assert.equal((await podOf(vm)).metadata.uid, metadata.uid);
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    assert.equal(await mountsOf(vm, disk), 1);
    await world.inVm(vm, 'umount /var/vcap/store');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  /**
   * Writes the files that the agent leaves when it has mounted a disk (bosh-agent:
   * platform/linux_platform.go).
   */
  async function noteMounted(vm: string, disk: string, hint: string): Promise<void> {
    await world.inVm(
      vm,
      `mkdir -p /var/vcap/store && mount --bind ${hint} /var/vcap/store && printf ${disk} > /var/vcap/bosh/managed_disk_settings.json &&
       echo '{"${disk}":{"ID":"${disk}"}}' > /var/vcap/bosh/persistent_disk_hints.json`,
    );
  }

  /** Returns the processes of a VM with exactly that command line. */
  async function pidsOf(vm: string, command: string): Promise<string> {
    const script = `for process in /proc/[0-9]*; do
      [ "$(tr '\\0' ' ' < $process/cmdline 2> /dev/null)" = '${command} ' ] && echo "\${process#/proc/}"
    done; true`;
    return (await world.inVm(vm, script)).trim().replaceAll('\n', ' ');
  }

  async function killContainer(vm: string): Promise<void> {
    const restarts = async (): Promise<number> =>
      (await podOf(vm)).status?.containerStatuses?.[0]?.restartCount ?? 0;
    const former = await restarts();
    // the command ends with the container
    await world.exec(vm, 'bosh', ['/bin/sh', '-c', 'kill -TERM 1']);
    await until('another life of its container', async () => {
      const { status } = await podOf(vm);
      const container = status?.containerStatuses?.[0];
      return (container?.restartCount ?? 0) > former && container?.state?.running !== undefined;
    });
    await until('its store', () =>
      world.inVm(vm, 'mountpoint -q /var/vcap/store && echo yes').catch(() => false as const),
    );
  }

  async function exists(name: string): Promise<boolean> {
    return podOf(name).then(
      () => true,
      (error: unknown) => {
        if (isApiError(error, 404)) return false;
        throw error;
      },
    );
  }
});
