import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { CallContext } from './call.ts';
import { annotation } from './objects/labels.ts';
import { AttachmentPod } from './disk/attach/attachment-pod.ts';
import { runBindScript, unmountFromVm } from './disk/attach/container-commands.ts';
import { volumeFunctions, readyLock } from './disk/attach/scripts/volume-functions.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { busy, embeddedVms } from './testing/embedded-vms.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { Crash, crashingApi } from './testing/crashing-api.ts';
import { deleteVm } from './vm/delete-vm.ts';

/**
 * The mount container of an attachment pod on the embedded node: it mounts, keeps the mount, unmounts
 * (docs/decisions/0007).
 */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  const { newVm, newDisk, podOf, mountsOf } = embeddedVms(() => world, '127.64.13');

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  test('an attachment pod of a killed attach_disk does not mount the disk before the claim records the VM', async () => {
    const vm = await newVm();
    const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const dying = { ...world.cloud, api: crashingApi(world.cloud.api, 1, 'after') };
    await assert.rejects(attachDisk(dying, { vmCid: vm, diskCid: disk }), (error) => error instanceof Crash);
    const isReady = ['/bin/sh', '-c', `[ -e ${readyLock} ] && ! flock -n ${readyLock} true`] as const;
    await until('the mount container to have been through its start', async () => {
      const [holder] = (await podOf(`attach-${disk}`)).status?.containerStatuses ?? [];
      if (holder?.state?.running === undefined) return false;
      return (await world.exec(`attach-${disk}`, 'hold', isReady)).exitCode === 0;
    });
    assert.equal(await mountsOf(vm, disk), 0);
    await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await mountsOf(vm, disk), 1);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('an attach_disk replaces an attachment pod that was released and not deleted', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    const attachment = await podOf(`attach-${disk}`);
    await unmountFromVm(world.cloud, new AttachmentPod(world.cloud, attachment), 1);
    await world.inVm(vm, `! test -e ${hint}`);
    assert.deepEqual(await runBindScript(new AttachmentPod(world.cloud, attachment), '2'), {
      kind: 'released',
    });
    assert.equal(await attachDisk(world.cloud, { vmCid: vm, diskCid: disk }), hint);
    assert.notEqual((await podOf(`attach-${disk}`)).metadata.uid, attachment.metadata.uid);
    await world.inVm(vm, `test -d ${hint}`);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('the bind container of an attachment pod with a new sandbox adds no second mount', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    const attachment = await podOf(`attach-${disk}`);
    for (let left = 3; left > 0; left -= 1)
      assert.deepEqual(await runBindScript(new AttachmentPod(world.cloud, attachment), '1'), {
        kind: 'bound',
      });
    assert.equal(await mountsOf(vm, disk), 1);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await mountsOf(vm, disk), 0);
    await world.inVm(vm, `! test -e ${hint}`);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('a mount container that has unmounted because it terminates does not mount the disk again', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    const attachment = await podOf(`attach-${disk}`);
    const { exitCode } = await world.cloud.exec({
      ...{ pod: `attach-${disk}`, container: 'hold', deadlineMs: 60_000 },
      // what its loop does after TERM
      command: [
        '/bin/sh',
        '-c',
        `${volumeFunctions}ending=1\nrelease\n`,
        'release',
        ...[disk, attachment.metadata.annotations?.[annotation.vmUid] ?? ''],
      ],
    });
    assert.equal(exitCode, 0);
    const outcome = await runBindScript(new AttachmentPod(world.cloud, attachment), '1');
    assert.deepEqual(outcome, { kind: 'cannot', reason: `the attachment of disk ${disk} is ending` });
    await world.inVm(vm, `! test -e ${hint}`);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('a VM whose termination was cancelled has its disk again', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    // as the preStop hook does, also where a kubelet makes the sandbox of the VM's pod again
    await world.inVm(vm, 'mkdir /warden-cpi-dev/.going');
    await until('the disk to be out', async () => (await mountsOf(vm, disk)) === 0);
    await world.killContainer(vm);
    await until('the disk to be there again', async () => {
      const { exitCode } = await world
        .exec(vm, 'bosh', ['/bin/sh', '-c', 'test -d "$1"', 'look', hint])
        .catch(() => ({ exitCode: 1 }));
      return exitCode === 0;
    });
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await mountsOf(vm, disk), 0);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('a disk that comes into use during a release is mounted again, and stays attached', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    const inHolder = (script: string) => world.exec(`attach-${disk}`, 'hold', ['/bin/sh', '-c', script]);
    const slowUmount = `umount() { : > /scratch/asked; until [ -e /scratch/used ]; do sleep 0.05; done; command umount "$@"; }\n`;
    const slow: CallContext = {
      ...world.cloud,
      exec: (asked) => {
        const [shell, flag, script, name = '', ...words] = asked.command;
        const slowed = name === 'release' ? `${slowUmount}${script}` : script;
        return world.cloud.exec({ ...asked, command: [shell, flag, slowed, name, ...words] });
      },
    };
    const refused = assert.rejects(
      detachDisk(slow, { vmCid: vm, diskCid: disk }),
      busy(/mounted at \/var\/vcap\/store/u),
    );
    await until(
      'the release to be about to unmount',
      async () => (await inHolder('test -e /scratch/asked')).exitCode === 0,
    );
    await world.inVm(vm, `mkdir -p /var/vcap/store && mount --bind ${hint} /var/vcap/store`);
    await inHolder(': > /scratch/used');
    await refused;
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    assert.equal(await mountsOf(vm, disk), 1);
    await world.inVm(vm, `test -d ${hint} && umount /var/vcap/store`);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('an attachment of version 0.1.0, which has the hub in two parts, is asked and gives its disk back', async () => {
    const vm = await newVm();
    const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const former = { ...world.cloud, api: withFormerMounts(world.cloud.api) };
    const hint = await attachDisk(former, { vmCid: vm, diskCid: disk });
    const { containers } = (await podOf(`attach-${disk}`)).spec;
    assert.ok(containers[0]?.volumeMounts?.some(({ mountPath }) => mountPath === '/vm/hub'));
    await world.inVm(vm, `echo alive > ${hint}/canary`);
    assert.deepEqual(
      await runBindScript(new AttachmentPod(world.cloud, await podOf(`attach-${disk}`)), '1'),
      { kind: 'bound' },
    );
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await mountsOf(vm, disk), 0);
    await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await world.inVm(vm, `cat ${hint}/canary`), 'alive\n');
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  for (const place of ['a disk', 'a tmpfs']) {
    test(`a disk is not mounted in a hub that is a plain folder of ${place} gets no disk, which would be removed with it`, async () => {
      const unmount = place === 'a tmpfs' ? await world.mountTmpfs('kubelet/pods') : undefined;
      const vm = await newVm({ ...world.cloud, api: withPlainHub(world.cloud.api) });
      const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
      await assert.rejects(attachDisk(world.cloud, { vmCid: vm, diskCid: disk }), {
        code: 'DISK_NOT_ATTACHABLE',
        message: /the hub of the VM is not a tmpfs of its own/u,
      });
      assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), []);
      assert.equal(await mountsOf(vm, disk), 0);
      await deleteVm(world.cloud, { vmCid: vm });
      await deleteDisk(world.cloud, { diskCid: disk });
      await unmount?.();
    });
  }
});

/** Creates objects in which the JSON text `from` is replaced by `to`. */
const withOther = (api: KubernetesApi, from: string, to: string): KubernetesApi => ({
  ...interceptingApi(api, () => Promise.resolve()),
  create: (resource, object) =>
    api.create(resource, JSON.parse(JSON.stringify(object).replace(from, to)) as typeof object),
});

/** Creates pods whose hub is a plain folder of the node. */
const withPlainHub = (api: KubernetesApi): KubernetesApi =>
  withOther(api, '"emptyDir":{"medium":"Memory"}', '"emptyDir":{}');

const withFormerMounts = (api: KubernetesApi): KubernetesApi =>
  withOther(
    api,
    '{"name":"vm-hub","mountPath":"/hub","mountPropagation":"Bidirectional"}',
    `{"name":"disks","mountPath":"/hub","mountPropagation":"Bidirectional"},
    {"name":"vm-hub","mountPath":"/vm/hub","mountPropagation":"HostToContainer","readOnly":true}`,
  );
