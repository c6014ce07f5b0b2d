import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../agent/testing/eventually.ts';
import { startCountingJob } from '../agent/testing/counting-job.ts';
import { reaches } from '../agent/testing/specs.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { createAgentVm, newAgentDisk, untilAnswers } from './testing/agent-vm.ts';
import { ownAgent } from './testing/agents.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { namespace } from './testing/test-cloud.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { rebootVm } from './vm/reboot-vm.ts';

/**
 * The file that sync_dns leaves for the VM's jobs, bosh-dns among them. A director sends it again only when
 * it changes.
 */
const dnsRecords = '/var/vcap/instance/dns/records.json';

/**
 * The container of a VM ends and is restarted, with this project's agent and a job that writes to its disk.
 */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;

  before(async () => {
    world = await EmbeddedWorld.start(ownAgent);
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const podOf = (name: string): Promise<Pod> => world.cloud.api.get({ resource: pods, namespace, name });
  const lives = (cid: string): Promise<string> => world.inVm(cid, 'cat /var/vcap/store/lives');

  test('reboot_vm, and a container killed in mid-write: same pod, address, disk and agent state; the jobs run again', async () => {
    const vm = await createAgentVm(world, { address: '127.64.40.1' });
    const disk = await newAgentDisk(world, vm);
    await startCountingJob(vm.client);
    const { metadata, status } = await podOf(vm.cid);
    await world.inVm(vm.cid, `mkdir -p /var/vcap/instance/dns && echo '{"version":7}' > ${dnsRecords}`);

    await rebootVm(world.cloud, { vmCid: vm.cid });
    const rebooted = await podOf(vm.cid);
    assert.equal(rebooted.status?.containerStatuses?.[0]?.restartCount, 1);
    await untilAnswers(vm);
    await reaches(vm.client, 'running');
    assert.equal(await lives(vm.cid), 'life\nlife\n');
    assert.equal(await world.inVm(vm.cid, `cat ${dnsRecords}`), '{"version":7}\n');

    const writing = 'i=0; while :; do i=$((i + 1)); echo $i >> /var/vcap/store/log; sleep 0.01; done';
    await world.inVm(vm.cid, `(${writing}) > /dev/null 2>&1 &`);
    await eventually('a line of the log', async () => {
      const said = await world.exec(vm.cid, 'bosh', ['test', '-s', '/var/vcap/store/log']);
      return said.exitCode === 0 ? true : undefined;
    });
    await world.killContainer(vm.cid);
    await eventually('a third life', async () => {
      const now = (await podOf(vm.cid)).status?.containerStatuses?.[0];
      return now?.restartCount === 2 && now.state?.running !== undefined ? true : undefined;
    });
    await untilAnswers(vm);
    await reaches(vm.client, 'running');
    assert.equal(await lives(vm.cid), 'life\nlife\nlife\n');

    assert.equal(await world.inVm(vm.cid, `cat ${dnsRecords}`), '{"version":7}\n');
    await world.inVm(vm.cid, "awk '$1 != NR { exit 1 }' /var/vcap/store/log");

    const last = await podOf(vm.cid);
    assert.equal(last.metadata.uid, metadata.uid);
    assert.equal(last.status?.podIP, status?.podIP);
    assert.deepEqual(await getDisks(world.cloud, { vmCid: vm.cid }), [disk]);
    assert.deepEqual(await vm.client.value('list_disk'), [disk]);
    await deleteVm(world.cloud, { vmCid: vm.cid });
  });

  test('baseline: without mount(2) the store is the disk all the same, through restart, detach and attach', async () => {
    const vm = await createAgentVm(world, { address: '127.64.40.2', properties: { profile: 'baseline' } });
    const disk = await newAgentDisk(world, vm);
    await startCountingJob(vm.client);
    assert.equal(
      (await world.inVm(vm.cid, 'readlink /var/vcap/store')).trim(),
      `/warden-cpi-dev/disks/${disk}/store`,
    );
    const busy = (error: unknown): boolean => isProductError(error, 'DISK_BUSY');
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm.cid, diskCid: disk }), busy);

    await rebootVm(world.cloud, { vmCid: vm.cid });
    await untilAnswers(vm);
    await reaches(vm.client, 'running');
    assert.equal(await lives(vm.cid), 'life\nlife\n');
    assert.deepEqual(await vm.client.value('list_disk'), [disk]);
    await assert.rejects(detachDisk(world.cloud, { vmCid: vm.cid, diskCid: disk }), busy);

    await vm.client.task('stop');
    await world.inVm(
      vm.cid,
      '(cd /var/vcap/store && exec sleep 1000) > /dev/null 2>&1 & echo $! > /tmp/user',
    );
    await assert.rejects(vm.client.task('unmount_disk', disk), /in use .*sleep \(pid/u);
    await world.inVm(vm.cid, 'kill $(cat /tmp/user)');
    assert.deepEqual(await vm.client.task('unmount_disk', disk), {
      message: `Unmounted partition of disk ${disk}`,
    });
    await vm.client.task('remove_persistent_disk', disk);
    await detachDisk(world.cloud, { vmCid: vm.cid, diskCid: disk });
    assert.deepEqual(await vm.client.value('list_disk'), []);

    const hint = await attachDisk(world.cloud, { vmCid: vm.cid, diskCid: disk });
    await vm.client.task('add_persistent_disk', disk, { path: hint });
    await vm.client.task('mount_disk', disk);
    await vm.client.value('start');
    await reaches(vm.client, 'running');
    assert.equal(await lives(vm.cid), 'life\nlife\nlife\n');

    await vm.client.task('stop');
    const larger = await newAgentDisk(world, vm);
    await vm.client.task('migrate_disk');
    assert.equal(await lives(vm.cid), 'life\nlife\nlife\n');
    assert.deepEqual(await vm.client.value('list_disk'), [larger]);
    await vm.client.task('remove_persistent_disk', disk);
    await detachDisk(world.cloud, { vmCid: vm.cid, diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm.cid });
    for (const cid of [disk, larger]) await deleteDisk(world.cloud, { diskCid: cid });
  });

  test('job_dir.tmpfs: rendered jobs are in memory, belong to root, and are still there after a restart of the container', async () => {
    const bosh = { job_dir: { tmpfs: true, tmpfs_size: '8m' } };
    const vm = await createAgentVm(world, { address: '127.64.40.3', bosh });
    await newAgentDisk(world, vm);
    await startCountingJob(vm.client);
    const found = (): Promise<string> =>
      world.inVm(
        vm.cid,
        'stat -f -c %T /var/vcap/data/jobs; stat -c "%a %u" /var/vcap/data/jobs; ls /var/vcap/data/jobs; ' +
          'grep -c " /var/vcap/data/jobs " /proc/self/mountinfo',
      );
    const first = await found();
    assert.match(first, /^tmpfs\n75[05] 0\nhello\n1\n$/u);

    await rebootVm(world.cloud, { vmCid: vm.cid });
    await untilAnswers(vm);
    await reaches(vm.client, 'running');
    assert.equal(await found(), first);
    assert.equal(await lives(vm.cid), 'life\nlife\n');
    await deleteVm(world.cloud, { vmCid: vm.cid });
  });

  test('reboot_vm of an unknown VM is VM_NOT_FOUND', async () => {
    for (const cid of ['vm-none', 'garbage', '../x'])
      await assert.rejects(rebootVm(world.cloud, { vmCid: cid }), (error) =>
        isProductError(error, 'VM_NOT_FOUND'),
      );
  });
});
