import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../kubernetes/resources.ts';
import type { PersistentVolume } from '../kubernetes/types/storage.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import type { PersistentVolumeClaim } from './disk/disks.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { hasDisk } from './disk/has-disk.ts';
import { annotation } from './objects/labels.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';

type Strategy = 'hot' | 'recreate';

/**
 * Another program than the CPI deletes pods while jobs write to every disk: all pods end, and the data is
 * whole.
 */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let count = 0;

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const podReference = (name: string) => ({ resource: pods, namespace, name });
  const isThere = (name: string): Promise<boolean> =>
    world.cloud.api.get<Pod>(podReference(name)).then(
      () => true,
      (error: unknown) => {
        if (isApiError(error, 404)) return false;
        throw error;
      },
    );
  const untilGone = (name: string): Promise<true> =>
    until(`${name} to be gone`, async () => !(await isThere(name)), 45_000);
  const newVm = async (cloud: CallContext): Promise<string> => {
    count += 1;
    const networks = { default: { type: 'manual', ip: `127.64.9.${count}` } };
    const [cid] = await createVm(cloud, createVmRequest({ agentId: `agent-${count}`, networks }));
    return cid;
  };

  /** Makes a VM with that many disks: the first is mounted on the store, and a job writes to each. */
  async function subject(cloud: CallContext, disks: number): Promise<{ vm: string; cids: string[] }> {
    const vm = await newVm(cloud);
    const cids: string[] = [];
    for (let left = disks; left > 0; left -= 1) {
      const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
      await attachDisk(cloud, { vmCid: vm, diskCid: disk });
      cids.push(disk);
    }
    for (const [index, disk] of cids.entries()) {
      const place = index === 0 ? '/var/vcap/store' : `/var/vcap/store-${index}`;
      await world.inVm(
        vm,
        `mkdir -p ${place} && mount --bind /warden-cpi-dev/disks/${disk}/store ${place} && echo ${disk} > ${place}/canary && date > ${place}/log
         (exec >> ${place}/log; while date; do sleep 0.01; done) > /dev/null 2>&1 &`,
      );
    }
    return { vm, cids };
  }

  /**
   * Checks that the disks are free and their content is whole: another VM gets all of them, and then they are
   * deleted.
   */
  async function assertWhole(cloud: CallContext, cids: readonly string[]): Promise<void> {
    const next = await newVm(cloud);
    for (const disk of cids) {
      await attachDisk(cloud, { vmCid: next, diskCid: disk });
      const content = await world.inVm(
        next,
        `cd /warden-cpi-dev/disks/${disk}/store && cat canary && test -s log`,
      );
      assert.equal(content, `${disk}\n`);
    }
    await deleteVm(cloud, { vmCid: next });
    for (const disk of cids) await deleteDisk(cloud, { diskCid: disk });
  }

  /** Deletes in that order: `vm`, or the number of an attachment pod; with `!` by force. */
  async function deleteInOrder(strategy: Strategy, disks: number, order: readonly string[]): Promise<void> {
    const cloud = world.cloudWith({ attach: strategy });
    const { vm, cids } = await subject(cloud, disks);
    for (const word of order) {
      const [what, isForced] = [word.replace('!', ''), word.endsWith('!')];
      const name = what === 'vm' ? vm : `attach-${cids[Number(what)] ?? ''}`;
      await cloud.api.delete(podReference(name), isForced ? { gracePeriodSeconds: 0 } : {}).catch((error) => {
        if (!isApiError(error, 404)) throw error;
      });
    }
    await untilGone(vm);
    await deleteVm(cloud, { vmCid: vm });
    for (const disk of cids) await untilGone(`attach-${disk}`);
    await assertWhole(cloud, cids);
  }

  const orders: readonly [Strategy, number, readonly (readonly string[])[]][] = [
    ['hot', 0, [['vm'], ['vm!']]],
    ['hot', 1, [['vm', '0'], ['0', 'vm'], ['0!', 'vm'], ['vm!', '0'], ['vm!']]],
    ['hot', 2, [['vm'], ['0', 'vm', '1'], ['1', '0', 'vm']]],
    [
      'hot',
      2,
      [
        ['0!', '1', 'vm'],
        ['vm', '1!', '0!'],
        ['vm!', '0!', '1!'],
      ],
    ],
    ['recreate', 2, [['vm'], ['vm!']]],
  ];
  for (const [strategy, disks, list] of orders) {
    const names = list.map((order) => order.join(' ')).join(', ');
    test(`${strategy}, ${disks} disks, deleted in the order ${names}`, async () => {
      await Promise.all(list.map((order) => deleteInOrder(strategy, disks, order)));
    });
  }

  test('a claim deleted while it is attached: its volume is kept and becomes the disk again as the docs describe', async () => {
    const { api } = world.cloud;
    const { vm, cids } = await subject(world.cloud, 1);
    const [disk = ''] = cids;
    await world
      .inVm(vm, 'kill $(pidof sh | tr " " "\\n" | grep -vx 1) 2> /dev/null; umount -l /var/vcap/store; true')
      .catch(() => undefined);
    const reference = { resource: persistentVolumeClaims, namespace, name: disk };
    await api.delete(reference);
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), {
      code: 'DISK_WOULD_BE_LOST',
    });
    const claim = await api.get<PersistentVolumeClaim>(reference);
    const volume = { resource: persistentVolumes, name: claim.spec.volumeName ?? '' };

    await api.patch(volume, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    await api.patch(reference, { metadata: { annotations: { [annotation.giveUp]: 'true' } } });
    await deleteVm(world.cloud, { vmCid: vm });
    assert.equal(await hasDisk(world.cloud, { diskCid: disk }), false);
    await api.patch(volume, { spec: { claimRef: null } });
    const { labels = {} } = claim.metadata;
    await api.create(persistentVolumeClaims, {
      metadata: { name: disk, namespace, labels },
      spec: { ...claim.spec },
    });
    await assertWhole(world.cloud, cids);
    assert.equal((await api.get<PersistentVolume>(volume)).spec.persistentVolumeReclaimPolicy, 'Retain');
    await api.delete(volume);
  });
});
