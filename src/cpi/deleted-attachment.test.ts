import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { AttachmentPod } from './disk/attach/attachment-pod.ts';
import { runBindScript, unmountFromVm } from './disk/attach/container-commands.ts';
import { readyLock } from './disk/attach/scripts/volume-functions.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { busy, embeddedVms } from './testing/embedded-vms.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { atRequest, interceptingApi } from './testing/intercepting-api.ts';
import { namespace } from './testing/test-cloud.ts';
import { deleteVm } from './vm/delete-vm.ts';

/**
 * Attachment pods that end without a confirmed release, with their mount in the VM, on real pods of the
 * embedded node.
 */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  const { newVm, newDisk, podOf, mountsOf } = embeddedVms(() => world, '127.64.19');

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const reference = (disk: string) => ({ resource: pods, namespace, name: `attach-${disk}` });
  const find = (disk: string): Promise<Pod | undefined> =>
    world.api.get<Pod>(reference(disk)).catch((error: unknown) => {
      if (isApiError(error, 404)) return undefined;
      throw error;
    });

  /** Makes a VM with a disk that a job of the VM has mounted on its store. */
  async function writingVm(): Promise<{ vm: string; disk: string; hint: string }> {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await world.inVm(vm, `mkdir -p /var/vcap/store && mount --bind ${hint} /var/vcap/store`);
    await world.inVm(vm, 'echo written > /var/vcap/store/file');
    return { vm, disk, hint };
  }

  /**
   * Checks that the job still writes; then stops the job, detaches the disk and attaches it to another VM.
   */
  async function assertKeptThenMoves(vm: string, disk: string): Promise<void> {
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    await world.inVm(vm, 'echo more >> /var/vcap/store/file && umount /var/vcap/store');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.equal(await mountsOf(vm, disk), 0);
    const other = await newVm();
    const hint = await attachDisk(world.cloud, { vmCid: other, diskCid: disk });
    assert.equal(await world.inVm(other, `cat ${hint}/file`), 'written\nmore\n');
    for (const each of [vm, other]) await deleteVm(world.cloud, { vmCid: each });
    await deleteDisk(world.cloud, { diskCid: disk });
  }

  /** Returns the first process that has the arguments of that disk's mount container. */
  async function holderPid(disk: string): Promise<number | undefined> {
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/u.test(pid)) continue;
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (words.includes(`\0hold\0${disk}\0`)) return Number(pid);
    }
    return undefined;
  }

  async function killHolder(disk: string): Promise<void> {
    const pid = await holderPid(disk);
    assert.ok(pid !== undefined, `no holder of disk ${disk} runs`);
    process.kill(pid, 'SIGKILL');
  }

  test('detach_disk is rejected while a job writes if the attachment pod was force-deleted before the unmount', async () => {
    const { vm, disk } = await writingVm();
    let isDeleted = false;
    const exec: CallContext['exec'] = async (command) => {
      if (command.command[3] === 'release' && !isDeleted) {
        isDeleted = true;
        await world.api.delete(reference(disk), { gracePeriodSeconds: 0 });
      }
      return world.cloud.exec(command);
    };
    await assert.rejects(
      detachDisk({ ...world.cloud, exec }, { vmCid: vm, diskCid: disk }),
      busy(/mounted at \/var\/vcap\/store/u),
    );
    assert.ok(isDeleted);
    await assertKeptThenMoves(vm, disk);
  });

  for (const [verb, call] of Object.entries({
    detach_disk: (cloud: CallContext, vm: string, disk: string) =>
      detachDisk(cloud, { vmCid: vm, diskCid: disk }),
    delete_disk: (cloud: CallContext, _: string, disk: string) => deleteDisk(cloud, { diskCid: disk }),
  })) {
    test(`${verb} is rejected while a job writes, although the mount container was killed while it terminated`, async () => {
      const { vm, disk } = await writingVm();
      await world.api.delete(reference(disk));
      const killing = atRequest(`get persistentvolumeclaims ${disk}`, async () => {
        await killHolder(disk);
        await until('the attachment to be gone', async () => (await find(disk)) === undefined);
      });
      const read = (await find(disk)) as Pod;
      assert.notEqual(read.metadata.deletionTimestamp, undefined);
      const api = interceptingApi(world.cloud.api, killing);
      await assert.rejects(
        call({ ...world.cloud, api }, vm, disk),
        busy(verb === 'detach_disk' ? /mounted at \/var\/vcap\/store/u : /may still be mounted in VM/u),
      );
      if (verb === 'delete_disk') {
        assert.equal(await find(disk), undefined);
        await assert.rejects(
          detachDisk(world.cloud, { vmCid: vm, diskCid: disk }),
          busy(/mounted at \/var\/vcap\/store/u),
        );
      }
      await assertKeptThenMoves(vm, disk);
    });
  }

  test('a mount container that starts again after detach_disk has released the disk does not mount it; attach_disk does', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    assert.equal(
      await unmountFromVm(world.cloud, new AttachmentPod(world.cloud, await podOf(`attach-${disk}`)), 1),
      'released',
    );
    const former = await holderPid(disk);
    await killHolder(disk);
    await until('the mount container to have been through its start again', async () => {
      const [holder] = (await find(disk))?.status?.containerStatuses ?? [];
      const now = await holderPid(disk);
      if (holder?.state?.running === undefined || now === undefined || now === former) return false;
      const isReady = ['/bin/sh', '-c', `[ -e ${readyLock} ] && ! flock -n ${readyLock} true`];
      return (await world.exec(`attach-${disk}`, 'hold', isReady)).exitCode === 0;
    });
    assert.equal(await mountsOf(vm, disk), 0);
    assert.equal(await attachDisk(world.cloud, { vmCid: vm, diskCid: disk }), hint);
    assert.equal(await mountsOf(vm, disk), 1);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  for (const isDeleted of [false, true]) {
    const what = isDeleted ? 'an attachment that is deleted by force' : 'a mount container that is killed';
    test(`${what} between the unmount and the second check of a release: a disk in use is not detached`, async () => {
      const { vm, disk } = await writingVm();
      const unmounted = ['/bin/sh', '-c', `umount /hub/disks/${disk}`];
      assert.equal((await world.exec(`attach-${disk}`, 'hold', unmounted)).exitCode, 0);
      assert.equal(await mountsOf(vm, disk), 0);
      if (isDeleted) await world.api.delete(reference(disk), { gracePeriodSeconds: 0 });

      await assert.rejects(
        detachDisk(world.cloud, { vmCid: vm, diskCid: disk }),
        busy(/mounted at \/var\/vcap\/store/u),
      );

      assert.equal(await mountsOf(vm, disk), 1);
      // the pod that has adopted the mount mounts the volume again, as after a restart of the node
      assert.equal((await world.exec(`attach-${disk}`, 'hold', unmounted)).exitCode, 0);
      await killHolder(disk);
      await until('the disk to be back', async () => (await mountsOf(vm, disk)) === 1);
      await assertKeptThenMoves(vm, disk);
    });
  }

  test('no script runs in a mount container that has not mounted the volume yet', async () => {
    const vm = await newVm();
    const { disk } = await newDisk(vm);
    await world.exec(`attach-${disk}`, 'hold', ['/bin/rm', readyLock]);
    const outcome = await runBindScript(new AttachmentPod(world.cloud, await podOf(`attach-${disk}`)), '1');
    assert.equal(outcome.kind, 'no answer');
    assert.match('reason' in outcome ? outcome.reason : '', /has not mounted the volume yet/u);
    await deleteVm(world.cloud, { vmCid: vm });
    await deleteDisk(world.cloud, { diskCid: disk });
  });
});
