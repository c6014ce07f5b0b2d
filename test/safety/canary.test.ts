import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { hasKubectl, Kubectl } from '../kubectl/kubectl.ts';
import { EmbeddedLine, namespace, type Victim } from '../support/embedded-line.ts';
import { LineVm, volumeOf } from '../support/line-vm.ts';
import { isAlive, mountsOf, processesOf, type MachineProcess } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { Canaries, DiskCanary } from './canaries.ts';
import { missing } from './safety-host.ts';

interface Subject {
  readonly vm: LineVm;
  readonly disk: string;
  readonly canary: DiskCanary;
}

const withKubectl = { skip: (await hasKubectl()) ? false : 'needs kubectl on PATH' };

/** The suite's addresses are 127.64.77.0/24. A job that writes to its disk runs in every VM of it. */
describe('what deletions, crashes and restarts leave alone', { skip: missing ?? false }, () => {
  let line: EmbeddedLine;
  let canaries: Canaries;
  let kubectl: Kubectl;
  /** A disk that nobody ever attaches again. */
  let bystander: DiskCanary;
  let count = 100;

  before(async () => {
    line = await EmbeddedLine.start();
    canaries = await Canaries.plant(line);
    kubectl = new Kubectl(line.kubeconfig, line.directory);
    const { vm, disk, canary } = await newSubject();
    await vm.agent.stop();
    await vm.agent.unmountDisk(disk);
    await line.call('detach_disk', vm.cid, disk);
    await line.call('delete_vm', vm.cid);
    bystander = canary;
  });

  afterEach(async () => {
    await canaries.assertAlive();
    await bystander.assertWhole();
    assert.deepEqual(await mountsOf(line.directory), []);
  });

  after(async () => {
    const parent = line.directory;
    await line.destroy();
    assert.equal(existsSync(line.clusterDirectory), false);
    assert.deepEqual(await processesOf(parent), []);
    assert.deepEqual(await mountsOf(parent), []);
    await canaries.assertAliveWithout(line.clusterDirectory);
    await canaries.remove();
    await line.remove();
  });

  test('delete_vm while the job writes: the VM goes, the disk is whole and free', async () => {
    const { vm, disk, canary } = await newSubject();
    await line.call('delete_vm', vm.cid);
    await assertGone(vm);
    await canary.assertWhole();
    await assertFree(disk, canary);
  });

  test(
    'kubectl delete pod of the VM while the job writes: it ends within its grace, the disk is whole',
    withKubectl,
    async () => {
      const { vm, disk, canary } = await newSubject();
      const { exitCode, stderr } = await kubectl.run(['delete', 'pod', vm.cid, '--timeout=28s']);
      assert.equal(exitCode, 0, stderr);
      await line.call('delete_vm', vm.cid);
      await assertGone(vm);
      await assertFree(disk, canary);
    },
  );

  test(
    'kubectl delete --force --grace-period=0 of the VM while the job writes: its processes end, the disk is whole',
    withKubectl,
    async () => {
      const { vm, disk, canary } = await newSubject();
      const job = await writerOf(vm);
      const { exitCode, stderr } = await kubectl.run([
        'delete',
        'pod',
        vm.cid,
        '--force',
        '--grace-period=0',
      ]);
      assert.equal(exitCode, 0, stderr);
      await until('the end of the job', async () => !(await isAlive(job)));
      await canary.assertWhole();
      await line.call('delete_vm', vm.cid);
      await assertGone(vm);
      await assertFree(disk, canary);
    },
  );

  test(
    'the attachment deleted while the job writes: it stays until the disk is released, the disk is whole',
    withKubectl,
    async () => {
      const { vm, disk, canary } = await newSubject();
      const { exitCode } = await kubectl.run(['delete', 'pod', `attach-${disk}`, '--wait=false']);
      assert.equal(exitCode, 0);
      await growing(canary);
      const attachment = await podNamed(`attach-${disk}`);
      assert.notEqual(attachment?.metadata.deletionTimestamp, undefined);
      await vm.agent.stop();
      await vm.agent.unmountDisk(disk);
      await until('the end of the attachment', async () => (await podNamed(`attach-${disk}`)) === undefined);
      await canary.assertWhole();
      await line.call('delete_vm', vm.cid);
      await assertFree(disk, canary);
    },
  );

  test(
    'the attachment deleted by force, then delete_disk while the job writes: nothing is removed under the job',
    withKubectl,
    async () => {
      const { vm, disk, canary } = await newSubject();
      await kubectl.run(['delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0']);
      await until('the end of the attachment', async () => (await podNamed(`attach-${disk}`)) === undefined);
      await growing(canary);
      await line.cpi('delete_disk', disk);
      await growing(canary);
      await canary.assertWhole();
      await line.call('delete_vm', vm.cid);
      await assertGone(vm);
      await line.call('delete_disk', disk);
      await until('the end of the volume', async () => !existsSync(canary.volume));
    },
  );

  test('detach_disk and delete_disk while the job writes are refused, the disk stays attached; later both succeed', async () => {
    const { vm, disk, canary } = await newSubject();
    const detached = await line.cpi('detach_disk', vm.cid, disk);
    assert.match(detached.error?.message ?? '', /still attached .* in use .* mounted at \/var\/vcap\/store/);
    const deleted = await line.cpi('delete_disk', disk);
    assert.match(deleted.error?.message ?? '', /is attached to VM/);
    assert.deepEqual(await line.call('get_disks', vm.cid), [disk]);
    await growing(canary);
    await vm.agent.stop();
    await vm.agent.unmountDisk(disk);
    await line.call('detach_disk', vm.cid, disk);
    await canary.assertWhole();
    await line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
    await line.call('delete_vm', vm.cid);
  });

  test('links that a job plants lead no removal outside', async () => {
    const { vm, disk, canary } = await newSubject();
    await vm.run(
      [
        `for place in /var/vcap/data /var/vcap/store /var/vcap/bosh /warden-cpi-dev /warden-cpi-dev/disks/${disk}; do`,
        `  ln -s / $place/root; ln -s ${canaries.outside} $place/canaries; ln -s ${bystander.volume} $place/volume`,
        `done`,
        `mkdir -p /var/vcap/data/deep && cd /var/vcap/data/deep && ln -s ../../../../../../../../../.. up`,
        `rm -rf /var/vcap/data/sys && ln -s ${canaries.outside}/folder /var/vcap/data/sys`,
      ].join('\n'),
    );
    await line.call('delete_vm', vm.cid);
    await assertGone(vm);
    await canary.assertWhole();
    await line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  });

  for (const victim of ['the node', 'the first process', 'unshare', 'everything'] satisfies Victim[]) {
    test(`kill -9 of ${victim} and a start at once: the VM, its job and its disk come back whole`, async () => {
      const { vm, disk, canary } = await newSubject();
      const former = await vm.pod();
      const old = await processesOf(line.directory);
      const lives = await livesOf(canary);
      await line.kill(victim);
      await line.restart();
      for (const each of old) assert.equal(await isAlive(each), false, `${each.pid} ${each.command}`);
      await vm.untilAgentAnswers();
      await until('the job of the next life', async () => (await livesOf(canary)) > lives);
      await growing(canary);
      assert.equal((await vm.pod()).metadata.uid, former.metadata.uid);
      assert.deepEqual(await line.call('get_disks', vm.cid), [disk]);
      await vm.run('mountpoint -q /var/vcap/store && ! test -e /var/vcap/data/started-without-its-disk');
      await canary.assertWhole();
      await line.call('delete_vm', vm.cid);
      await assertGone(vm);
      await line.call('delete_disk', disk);
      await until('the end of the volume', async () => !existsSync(canary.volume));
    });
  }

  test(
    'kill -9 of everything, restart and delete_disk of a disk that the old job wrote to: the old job is dead, nothing else goes',
    withKubectl,
    async () => {
      const { vm, disk, canary } = await newSubject();
      const kept = await newSubject();
      const job = await writerOf(vm);
      await kubectl.run(['delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0']);
      await until('the end of the attachment', async () => (await podNamed(`attach-${disk}`)) === undefined);
      await growing(canary);
      await line.kill('everything');
      await line.restart();
      assert.equal(await isAlive(job), false);
      const lines = await canary.lines();
      await line.call('delete_disk', disk);
      assert.ok(lines > 0);
      await until('the end of the volume', async () => !existsSync(canary.volume));
      await kept.vm.untilAgentAnswers();
      await growing(kept.canary);
      await kept.canary.assertWhole();
      const refused = await line.cpi('delete_disk', kept.disk);
      assert.match(refused.error?.message ?? '', /is attached to VM/);
      await line.call('delete_vm', vm.cid);
      await line.call('delete_vm', kept.vm.cid);
      await kept.canary.assertWhole();
      await line.call('delete_disk', kept.disk);
    },
  );

  test('stop ends every process and mount; the next start brings the VM, its job and its disk back', async () => {
    const { vm, disk, canary } = await newSubject();
    const lives = await livesOf(canary);
    await line.stop();
    assert.deepEqual(await processesOf(line.directory), []);
    assert.deepEqual(await mountsOf(line.directory), []);
    await canary.assertWhole();
    await line.restart();
    await vm.untilAgentAnswers();
    await until('the job of the next life', async () => (await livesOf(canary)) > lives);
    await growing(canary);
    await vm.run('! test -e /var/vcap/data/started-without-its-disk');
    await line.call('delete_vm', vm.cid);
    await canary.assertWhole();
    await line.call('delete_disk', disk);
  });

  test('an attachment that starts before its VM binds the disk to no plain directory', async () => {
    const { vm, disk, canary } = await newSubject();
    const { uid = '' } = (await vm.pod()).metadata;
    await line.kill('everything');
    await until('the end of all', async () => (await processesOf(line.directory)).length === 0);
    // the hub is a plain directory now; the VM is kept from mounting it by a file in the place of its first volume
    const volumes = join(line.clusterDirectory, 'kubelet', 'pods', uid, 'volumes');
    const hub = join(volumes, 'kubernetes.io~empty-dir', 'hub');
    const settings = join(volumes, 'kubernetes.io~secret', 'settings');
    assert.deepEqual(await readdir(hub), []);
    await mkdir(join(hub, 'disks'));
    await rm(settings, { recursive: true });
    await writeFile(settings, '');
    await line.restart();
    await until('the refusal of the attachment', async () =>
      /not a tmpfs/.test(JSON.stringify((await podNamed(`attach-${disk}`))?.status)),
    );
    await canary.assertWhole();
    await rm(settings);
    await vm.untilAgentAnswers();
    await growing(canary);
    await vm.run('mountpoint -q /var/vcap/store && ! test -e /var/vcap/data/started-without-its-disk');
    await line.call('delete_vm', vm.cid);
    await assertGone(vm);
    await assertFree(disk, canary);
  });

  /** A VM with a disk, a canary on it, and a job that writes to it. */
  async function newSubject(): Promise<Subject> {
    count += 1;
    const vm = await LineVm.create(line, `127.64.77.${count}`);
    const disk = await vm.newDisk();
    const content = `canary ${count}`;
    await vm.run(`printf '${content}' > /var/vcap/store/canary && sync /var/vcap/store/canary`);
    await vm.startWriter(line.directory);
    const canary = new DiskCanary(await volumeOf(line, disk), content);
    await growing(canary);
    return { vm, disk, canary };
  }

  async function growing(canary: DiskCanary): Promise<void> {
    const lines = await canary.lines();
    await until('the job to write on', async () => (await canary.lines()) > lines + 1, 60_000);
  }

  async function livesOf(canary: DiskCanary): Promise<number> {
    return (await readFile(join(canary.volume, 'store', 'lives'), 'utf8')).split('\n').length - 1;
  }

  async function writerOf(vm: LineVm): Promise<MachineProcess> {
    const { uid = '' } = (await vm.pod()).metadata;
    const job = (await processesOf(uid)).find(({ command }) => command.includes('writer/bin/run'));
    assert.ok(job !== undefined);
    return job;
  }

  async function podNamed(name: string): Promise<Pod | undefined> {
    const { items } = await (await line.api()).list<Pod>(pods, { namespace });
    return items.find((pod) => pod.metadata.name === name);
  }

  /** Neither a process nor a directory of the VM is left. */
  async function assertGone(vm: LineVm): Promise<void> {
    assert.equal(await line.call('has_vm', vm.cid), false);
    await assert.rejects(vm.agent.ping(), (error) => isProductError(error, 'AGENT_UNREACHABLE'));
    const { items } = await (await line.api()).list<Pod>(pods, { namespace });
    const living = new Set(items.map((pod) => pod.metadata.uid));
    await until('the end of the directories of pods that are gone', async () => {
      const present = await readdir(join(line.clusterDirectory, 'kubelet', 'pods'));
      return present.every((uid) => living.has(uid));
    });
  }

  /** Another VM finds the disk as it was. Both are deleted in the end. */
  async function assertFree(disk: string, canary: DiskCanary): Promise<void> {
    count += 1;
    const other = await LineVm.create(line, `127.64.77.${count}`);
    await other.attach(disk);
    assert.equal(await other.run('cat /var/vcap/store/canary'), canary.content);
    await line.call('delete_vm', other.cid);
    await canary.assertWhole();
    await line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  }
});
