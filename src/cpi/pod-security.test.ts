import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../agent/testing/eventually.ts';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import { namespaces, pods } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { upstreamAgent } from './testing/agents.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { rebootVm } from './vm/reboot-vm.ts';

const enforce = 'pod-security.kubernetes.io/enforce';
const diskNamespace = 'disks';

/**
 * VMs in a namespace that enforces Pod Security "baseline"; their disks are hot-attached from one that does
 * not.
 */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let cloud: CallContext;

  before(async () => {
    world = await EmbeddedWorld.start(upstreamAgent);
    cloud = world.cloudWith({ disk_namespace: diskNamespace });
    await label(namespace, 'baseline');
    await label(diskNamespace, 'privileged');
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  async function label(name: string, level: string): Promise<void> {
    const metadata = { name, labels: { [enforce]: level } };
    try {
      await world.api.create(namespaces, { metadata });
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      await world.api.patch({ resource: namespaces, name }, { metadata: { labels: metadata.labels } });
    }
  }

  const newVm = async (profile: string): Promise<string> => {
    const networks = { default: { type: 'manual', ip: '127.64.42.1' } };
    const words = createVmRequest({ agentId: `agent-${profile}`, networks, properties: { profile } });
    return (await createVm(cloud, words))[0];
  };

  const agent = (vm: string, words: string): Promise<string> =>
    world.inVm(vm, `PATH=$(cat /var/vcap/bosh/agent.path) /opt/bosh-kubernetes/node ${words} 2>&1`);

  const boots = (vm: string, count: number): Promise<true> =>
    eventually(`boot ${count} of the agent`, async () => {
      const said = await world.exec(vm, 'bosh', ['cat', '/var/vcap/bosh/boots']).catch(() => undefined);
      return said?.stdout === 'booted\n'.repeat(count) ? true : undefined;
    });

  test('a VM of another profile is refused with the reason, and nothing of it is left', async () => {
    for (const profile of ['privileged', 'sys-admin']) {
      await assert.rejects(
        newVm(profile),
        (error) =>
          isProductError(error, 'VM_CREATION_FAILED') && /PodSecurity "baseline:latest"/u.test(error.message),
      );
    }
    assert.deepEqual((await world.api.list(pods, { namespace })).items, []);
  });

  test('a baseline VM: attach, use, restart, unmount and detach', async () => {
    const vm = await newVm('baseline');
    await boots(vm, 1);
    const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
    await agent(vm, `add_persistent_disk ${disk} ${hint}`);
    await agent(vm, `mount_disk ${disk}`);
    await world.inVm(vm, 'echo kept > /var/vcap/store/canary');
    await assert.rejects(detachDisk(cloud, { vmCid: vm, diskCid: disk }), (error) =>
      isProductError(error, 'DISK_BUSY'),
    );

    await rebootVm(cloud, { vmCid: vm });
    await boots(vm, 2);
    assert.equal(await world.inVm(vm, 'cat /var/vcap/store/canary'), 'kept\n');
    assert.equal(await agent(vm, 'list_disk'), `${disk}\n`);
    assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [disk]);

    await agent(vm, `unmount_disk ${disk}`);
    await agent(vm, `remove_persistent_disk ${disk}`);
    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `! test -e ${hint}`);
    await deleteVm(cloud, { vmCid: vm });
    await deleteDisk(cloud, { diskCid: disk });
  });
});
