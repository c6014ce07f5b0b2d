import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../agent/testing/eventually.ts';
import { describeInNamespace, namespaceMode } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { upstreamAgent } from './testing/agents.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { profiles, type SecurityProfile } from './config/profile.ts';
import { rebootVm } from './vm/reboot-vm.ts';

/**
 * In every profile, an agent that knows disks by the output of mount(8): list, unmount, migrate, restart and
 * detach.
 */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;

  before(async () => {
    world = await EmbeddedWorld.start(upstreamAgent);
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const boots = (vm: string, count: number): Promise<true> =>
    eventually(`boot ${count} of the agent`, async () => {
      const said = await world.exec(vm, 'bosh', ['cat', '/var/vcap/bosh/boots']).catch(() => undefined);
      return said?.stdout === 'booted\n'.repeat(count) ? true : undefined;
    });

  async function newVm(profile: SecurityProfile, cloud = world.cloud): Promise<string> {
    const networks = { default: { type: 'manual', ip: `127.64.41.${profiles.indexOf(profile) + 1}` } };
    const [cid] = await createVm(
      cloud,
      createVmRequest({ agentId: `agent-${profile}`, networks, properties: { profile } }),
    );
    await boots(cid, 1);
    return cid;
  }

  /** Under `recreate` an attach recreates the container. */
  const agentRuns = (vm: string): Promise<true> =>
    eventually('the agent in this container', async () => {
      const said = await world.exec(vm, 'bosh', ['test', '-e', '/run/agent']).catch(() => undefined);
      return said?.exitCode === 0 ? true : undefined;
    });

  /** Runs an action of the agent with the PATH that the entry script gave it. */
  const agent = (vm: string, ...words: string[]): Promise<string> =>
    world.inVm(
      vm,
      `PATH=$(cat /var/vcap/bosh/agent.path) UNMOUNT_TRIES=2 /opt/bosh-kubernetes/node ${words.join(' ')} 2>&1`,
    );

  async function newDisk(vm: string, cloud = world.cloud): Promise<string> {
    const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
    await agentRuns(vm);
    await agent(vm, 'add_persistent_disk', disk, hint);
    await agent(vm, 'mount_disk', disk);
    return disk;
  }

  const refusedAsBusy = (promise: Promise<unknown>): Promise<void> =>
    assert.rejects(promise, (error) => isProductError(error, 'DISK_BUSY'));

  test('mount(2) fails in a baseline VM and works in a sys-admin one; both have the capabilities of their name', async () => {
    const rights = async (profile: SecurityProfile): Promise<string> => {
      const vm = await newVm(profile);
      const said = await world.inVm(
        vm,
        'grep CapEff /proc/self/status | cut -f 2; mkdir /mnt/a; mount --bind /mnt/a /mnt/a 2>&1 && echo mounted; true',
      );
      await deleteVm(world.cloud, { vmCid: vm });
      return said;
    };
    assert.match(await rights('baseline'), /^00000000a80425fb\n.*(?:denied|superuser|permitted)/iu);
    assert.equal(await rights('sys-admin'), '00000000a82425fb\nmounted\n');
  });

  test('monit runs without a service manager: started once, again when it was killed, not when it was stopped', async () => {
    const vm = await newVm('baseline');
    const script =
      "printf '#!/bin/sh\\necho $$ >> /tmp/monits\\nsleep 1000 & wait\\n' > /var/vcap/bosh/bin/monit";
    await world.inVm(vm, `${script}; chmod 755 /var/vcap/bosh/bin/monit`);
    const service = (words: string): Promise<string> =>
      world.inVm(vm, `PATH=$(cat /var/vcap/bosh/agent.path); ${words}`);
    const monits = (count: number): Promise<true> =>
      eventually(`monit ${count}`, async () =>
        (await world.inVm(vm, 'cat /tmp/monits 2> /dev/null | wc -l')).trim() === String(count)
          ? true
          : undefined,
      );
    await service('systemctl start monit && sv start monit');
    await monits(1);
    await service('systemctl kill monit && systemctl start monit');
    await monits(2);
    await service('sv stop monit');
    await eventually('the end of all monits', async () => {
      const left = 'for pid in $(cat /tmp/monits); do if [ -e /proc/$pid ]; then echo $pid; fi; done';
      return (await world.inVm(vm, left)) === '' ? true : undefined;
    });
    await assert.rejects(service('systemctl restart systemd-resolved'), /no service manager/u);
    await deleteVm(world.cloud, { vmCid: vm });
  });

  test('baseline with the strategy recreate: the disk that is mounted is kept by a restart and not detached', async () => {
    const cloud = world.cloudWith({ attach: 'recreate' });
    const vm = await newVm('baseline', cloud);
    const disk = await newDisk(vm, cloud);
    await world.inVm(vm, 'echo kept > /var/vcap/store/canary');
    await refusedAsBusy(detachDisk(cloud, { vmCid: vm, diskCid: disk }));
    await rebootVm(cloud, { vmCid: vm });
    await agentRuns(vm);
    assert.equal(await world.inVm(vm, 'cat /var/vcap/store/canary'), 'kept\n');
    assert.equal(await agent(vm, 'list_disk'), `${disk}\n`);
    assert.equal(await agent(vm, 'unmount_disk', disk), `Unmounted partition of ${disk}\n`);
    await agent(vm, 'remove_persistent_disk', disk);
    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
    await deleteVm(cloud, { vmCid: vm });
    await deleteDisk(cloud, { diskCid: disk });
  });

  for (const profile of ['privileged', 'baseline'] as const) {
    test(`${profile} with the strategy recreate: the second disk of a migration; the agent starts in each new pod`, async () => {
      const cloud = world.cloudWith({ attach: 'recreate' });
      const vm = await newVm(profile, cloud);
      const first = await newDisk(vm, cloud);
      await boots(vm, 2);
      await world.inVm(vm, 'echo kept > /var/vcap/store/canary');

      const second = await newDisk(vm, cloud);
      await boots(vm, 3);
      assert.deepEqual(
        (await agent(vm, 'list_disk')).trim().split('\n').toSorted(),
        [first, second].toSorted(),
      );
      await agent(vm, 'migrate_disk');
      assert.equal(await agent(vm, 'list_disk'), `${second}\n`);

      // a director and the bosh CLI call the agent before they call detach_disk
      await agent(vm, 'remove_persistent_disk', first);
      await detachDisk(cloud, { vmCid: vm, diskCid: first });
      await boots(vm, 4);
      assert.equal(await agent(vm, 'list_disk'), `${second}\n`);
      assert.equal(await world.inVm(vm, 'cat /var/vcap/store/canary'), 'kept\n');

      await agent(vm, 'unmount_disk', second);
      await agent(vm, 'remove_persistent_disk', second);
      await detachDisk(cloud, { vmCid: vm, diskCid: second });
      await boots(vm, 5);
      await deleteVm(cloud, { vmCid: vm });
      for (const disk of [first, second]) await deleteDisk(cloud, { diskCid: disk });
    });
  }

  for (const profile of profiles) {
    test(`${profile}: a disk is listed while it is mounted, kept by a restart, migrated, unmounted, detached`, async () => {
      const vm = await newVm(profile);
      const first = await newDisk(vm);
      assert.equal(await agent(vm, 'list_disk'), `${first}\n`);
      await world.inVm(vm, 'echo kept > /var/vcap/store/canary; mkdir /var/vcap/store/d');
      await refusedAsBusy(detachDisk(world.cloud, { vmCid: vm, diskCid: first }));

      await world.inVm(
        vm,
        "printf '#!/bin/sh\\ncat /var/vcap/store/canary >> /var/vcap/store/lives\\n' > /var/vcap/bosh/job; chmod 755 /var/vcap/bosh/job",
      );
      await rebootVm(world.cloud, { vmCid: vm });
      await boots(vm, 2);
      assert.equal(await world.inVm(vm, 'cat /var/vcap/store/lives'), 'kept\n');
      assert.equal(await agent(vm, 'list_disk'), `${first}\n`);

      const second = await newDisk(vm);
      assert.deepEqual(
        (await agent(vm, 'list_disk')).trim().split('\n').toSorted(),
        [first, second].toSorted(),
      );
      await agent(vm, 'migrate_disk');
      assert.equal(await agent(vm, 'list_disk'), `${second}\n`);
      assert.equal(await world.inVm(vm, 'cat /var/vcap/store/canary'), 'kept\n');
      await agent(vm, 'remove_persistent_disk', first);
      await detachDisk(world.cloud, { vmCid: vm, diskCid: first });

      // the user namespace of an unprivileged user has one user only
      const as = namespaceMode === 'root' ? 'setpriv --reuid 1000 --regid 1000 --clear-groups' : 'exec';
      await world.inVm(
        vm,
        `(${as} sleep 1000 3> /var/vcap/store/open) > /dev/null 2>&1 & echo $! > /tmp/user`,
      );
      await assert.rejects(agent(vm, 'unmount_disk', second), /busy/u);
      assert.equal(await agent(vm, 'list_disk'), `${second}\n`);
      await world.inVm(vm, 'kill $(cat /tmp/user)');
      assert.equal(await agent(vm, 'unmount_disk', second), `Unmounted partition of ${second}\n`);
      assert.equal(await agent(vm, 'unmount_disk', second), `Partition of ${second} is not mounted\n`);
      assert.equal(await agent(vm, 'list_disk'), '');
      await world.inVm(vm, 'test -z "$(ls -A /var/vcap/store)"');
      await agent(vm, 'remove_persistent_disk', second);
      await detachDisk(world.cloud, { vmCid: vm, diskCid: second });

      // the agent's record of a detached disk would end its next start; tried once, because of the kubelet's
      // pause before it
      if (profile === 'baseline') {
        const other = await newDisk(vm);
        await world.inVm(vm, `printf ${second} > /var/vcap/bosh/managed_disk_settings.json`);
        await rebootVm(world.cloud, { vmCid: vm });
        await boots(vm, 3);
        await detachDisk(world.cloud, { vmCid: vm, diskCid: other });
      }
      await deleteVm(world.cloud, { vmCid: vm });
      for (const disk of [first, second]) await deleteDisk(world.cloud, { diskCid: disk });
    });
  }
});
