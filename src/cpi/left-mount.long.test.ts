import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { AttachmentPod } from './disk/attach/attachment-pod.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { Crash, crashingApi } from './testing/crashing-api.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';

/**
 * A mount container that waits for its restart cannot unmount. If its pod is deleted then, the disk stays
 * mounted in the VM's hub, and no object records that.
 */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let count = 0;

  const bystanders: ChildProcess[] = [];

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    for (const bystander of bystanders) bystander.kill('SIGKILL');
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const reference = (name: string) => ({ resource: pods, namespace, name });
  const find = (name: string): Promise<Pod | undefined> =>
    world.api.get<Pod>(reference(name)).catch((error: unknown) => {
      if (isApiError(error, 404)) return undefined;
      throw error;
    });
  const newVm = async (): Promise<string> => {
    count += 1;
    const networks = { default: { type: 'manual', ip: `127.64.9.${count}` } };
    const [cid] = await createVm(world.cloud, createVmRequest({ agentId: `agent-${count}`, networks }));
    return cid;
  };

  /** Sends SIGKILL to the mount containers of that disk: every process that has the script's arguments. */
  async function killHolder(disk: string): Promise<void> {
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/u.test(pid)) continue;
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (words.includes(`\0hold\0${disk}\0`)) killIfThere(Number(pid));
    }
  }

  /**
   * The embedded node unmounts unused mounts, which a kubelet does not do. It leaves a volume mounted that is
   * mounted in another place, too: in a mount namespace with copies, as other programs of a node have them.
   */
  async function copyMounts(): Promise<void> {
    const bystander = spawn('unshare', ['--mount', '--propagation', 'private', 'sleep', 'infinity']);
    bystanders.push(bystander);
    await until('a bystander with copies of all mounts', async () => {
      const words = await readFile(`/proc/${bystander.pid}/cmdline`, 'utf8');
      return words.startsWith('sleep\0');
    });
  }

  /**
   * Makes a VM with a disk that a job of the VM has mounted on its store, and no attachment pod: it was
   * deleted while its mount container was in back-off.
   */
  async function abandoned(): Promise<{ vm: string; disk: string }> {
    const vm = await newVm();
    const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
    const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `echo ${disk} > ${hint}/canary`);
    const attachment = `attach-${disk}`;
    await until('the holder to wait for its restart', async () => {
      const [holder] = (await find(attachment))?.status?.containerStatuses ?? [];
      if (holder?.state?.waiting?.reason === 'CrashLoopBackOff') return true;
      await killHolder(disk);
      return false;
    });
    await copyMounts();
    await world.api.delete(reference(attachment));
    // if the restart came first: in a terminating pod nothing is started again
    await until('the attachment to be gone', async () => {
      await killHolder(disk);
      return (await find(attachment)) === undefined;
    });
    assert.equal(await world.inVm(vm, `cat ${hint}/canary`), `${disk}\n`);
    return { vm, disk };
  }

  async function assertWhole(disk: string): Promise<void> {
    const next = await newVm();
    const hint = await attachDisk(world.cloud, { vmCid: next, diskCid: disk });
    assert.equal(await world.inVm(next, `cat ${hint}/canary`), `${disk}\n`);
    await deleteVm(world.cloud, { vmCid: next });
    await deleteDisk(world.cloud, { diskCid: disk });
  }

  test('delete_vm takes the disk out of the hub, and leaves nothing', async () => {
    const { vm, disk } = await abandoned();
    await deleteVm(world.cloud, { vmCid: vm });
    assert.equal(await find(vm), undefined);
    assert.deepEqual((await world.api.list(pods, { namespace })).items, []);
    await assertWhole(disk);
  });

  test('a deleted VM pod ends with the next delete_vm', async () => {
    const { vm, disk } = await abandoned();
    await world.api.delete(reference(vm));
    await deleteVm(world.cloud, { vmCid: vm });
    assert.deepEqual((await world.api.list(pods, { namespace })).items, []);
    await assertWhole(disk);
  });

  test('a delete_vm that is killed after it created its cleanup pod: the next one finishes, and leaves nothing', async () => {
    const { vm, disk } = await abandoned();
    const writes = ['the Secret', 'the pod', 'the sweeper'].length;
    const dying = { ...world.cloud, api: crashingApi(world.api, writes, 'after') };
    await assert.rejects(deleteVm(dying, { vmCid: vm }), (error) => error instanceof Crash);
    const sweeper = await find(`attach-${vm}`);
    assert.equal(sweeper?.metadata.deletionTimestamp, undefined);
    assert.ok(sweeper, 'it was killed too early');
    assert.deepEqual(
      await AttachmentPod.listOfVm(world.cloud, vm),
      [],
      'a sweeper is no attachment of a disk',
    );
    await deleteVm(world.cloud, { vmCid: vm });
    assert.deepEqual((await world.api.list(pods, { namespace })).items, []);
    await assertWhole(disk);
  });

  test('attach_disk adopts the mount', async () => {
    const { vm, disk } = await abandoned();
    await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm });
    await assertWhole(disk);
  });

  test('another VM of the node cannot have the disk until the first unmounts it', async () => {
    const { vm, disk } = await abandoned();
    const other = await newVm();
    await assert.rejects(attachDisk(world.cloud, { vmCid: other, diskCid: disk }), {
      code: 'DISK_ATTACHED_ELSEWHERE',
      message: /may still be mounted in VM .*detach it there first/u,
    });
    assert.deepEqual(await getDisks(world.cloud, { vmCid: other }), []);
    assert.equal(await world.inVm(vm, `cat /warden-cpi-dev/disks/${disk}/store/canary`), `${disk}\n`);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    const hint = await attachDisk(world.cloud, { vmCid: other, diskCid: disk });
    assert.equal(await world.inVm(other, `cat ${hint}/canary`), `${disk}\n`);
    for (const each of [vm, other]) await deleteVm(world.cloud, { vmCid: each });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test('detach_disk finds it in the hub: refused while a job uses it, then out', async () => {
    const { vm, disk } = await abandoned();
    const hint = `/warden-cpi-dev/disks/${disk}`;
    await world.inVm(vm, `mkdir -p /var/vcap/store && mount --bind ${hint}/store /var/vcap/store`);
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), { code: 'DISK_BUSY' });
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm }), [disk]);
    await world.inVm(vm, 'umount /var/vcap/store');
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await world.inVm(vm, `test ! -e ${hint}`);
    assert.equal(await detachDisk(world.cloud, { vmCid: vm, diskCid: disk }), null);
    await deleteVm(world.cloud, { vmCid: vm });
    await assertWhole(disk);
  });
});

/** A subshell of the mount container may have ended since it was seen. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
