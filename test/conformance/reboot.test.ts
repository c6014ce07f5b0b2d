import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { clause } from './clause.ts';
import { World } from './world.ts';

describe('reboot_vm', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  clause('26a', async () => {
    const fixed = world.target.addresses.length > 0;
    const vm = await world.newVm(fixed ? { networks: world.manual(world.address()) } : {});
    const disk = await world.newDisk({}, vm);
    await world.call('attach_disk', vm, disk);
    const store = `/warden-cpi-dev/disks/${disk}/store`;
    await world.run(vm, `echo kept > ${store}/content && echo kept > /var/vcap/bosh/of-the-test`);
    const podBeforeReboot = await world.pod(vm);

    await world.call('reboot_vm', vm);

    const now = await world.pod(vm);
    assert.equal(now.metadata.uid, podBeforeReboot.metadata.uid);
    assert.equal(now.status?.podIP, podBeforeReboot.status?.podIP);
    const id = (pod: typeof now): string | undefined =>
      pod.status?.containerStatuses?.find(({ name }) => name === 'bosh')?.containerID;
    assert.notEqual(id(now), id(podBeforeReboot));
    assert.deepEqual(await world.call('get_disks', vm), [disk]);
    assert.equal(await world.run(vm, `cat ${store}/content /var/vcap/bosh/of-the-test`), 'kept\nkept\n');
    await world.call('detach_disk', vm, disk);
    await world.call('delete_vm', vm);
    await world.call('delete_disk', disk);
  });

  clause('26b', async () => {
    await world.refuses('VMNotFound', 'reboot_vm', [`vm-${randomUUID()}`]);
  });
});
