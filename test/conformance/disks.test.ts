import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { persistentVolumeClaims } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { clause } from './clause.ts';
import { nowhere, soon, stranger } from './foreign-access.ts';
import { attachWaiting, withWaitingClass } from './waiting-class.ts';
import { World } from './world.ts';

interface Claim extends KubernetesObject {
  readonly spec: {
    readonly accessModes: readonly string[];
    readonly volumeMode?: string;
    readonly storageClassName?: string;
    readonly resources: { readonly requests: { readonly storage: string } };
  };
}

const store = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;

/**
 * Prints process id and start time of the process that listens at the port of the mbus (6868), a stock agent
 * or this project's.
 */
const listeningAgents = `
inodes=$(cat /proc/net/tcp /proc/net/tcp6 2> /dev/null | awk '$2 ~ /:1AD4$/ && $4 == "0A" { print $10 }')
for link in /proc/[0-9]*/fd/*; do
  socket=$(readlink "$link") || continue
  for inode in $inodes; do
    [ "$socket" = "socket:[$inode]" ] || continue
    pid=\${link#/proc/}; pid=\${pid%%/*}
    echo "$pid $(cut -d ' ' -f 22 "/proc/$pid/stat")"
  done
done | sort -u`;

describe('disks', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  const claimOf = (disk: string): Promise<Claim> =>
    world.api.get<Claim>({ resource: persistentVolumeClaims, namespace: world.namespace, name: disk });

  async function attached(vm: string): Promise<string> {
    const disk = await world.newDisk({}, vm);
    await world.call('attach_disk', vm, disk);
    return disk;
  }

  async function remove(vms: readonly string[], disks: readonly string[]): Promise<void> {
    for (const vm of vms) await world.call('delete_vm', vm);
    for (const disk of disks) await world.call('delete_disk', disk);
  }

  clause('31a', async () => {
    const disk = await world.newDisk({}, null, 100);
    assert.equal((await claimOf(disk)).spec.resources.requests.storage, '100Mi');
    await remove([], [disk]);
  });

  clause('31b', async () => {
    const name = (await world.defaultClass()).metadata.name;
    const plain = await world.newDisk({ storage_class: name });
    const volumeProperties = {
      storage_class: name,
      volume_mode: 'Filesystem',
      access_mode: 'ReadWriteOncePod',
    };
    const disks = [plain, await world.newDisk(volumeProperties)];
    const specs = await Promise.all(disks.map(async (disk) => (await claimOf(disk)).spec));
    assert.deepEqual(
      specs.map(({ accessModes, volumeMode, storageClassName }) => [
        accessModes,
        volumeMode,
        storageClassName,
      ]),
      [
        [['ReadWriteOnce'], 'Filesystem', name],
        [['ReadWriteOncePod'], 'Filesystem', name],
      ],
    );
    await world.refuses('CloudError', 'create_disk', [64, { storage_class: 'there-is-none' }, null]);
    await remove([], disks);
  });

  clause('31d', () =>
    withWaitingClass(world, async (name) => {
      const disk = await world.newDisk({ storage_class: name });
      assert.equal(await world.call('has_disk', disk), true);
      const vm = await world.newVm();
      await attachWaiting(world, vm, disk);
      await world.run(vm, `echo bound > ${store(disk)}/content`);
      await remove([vm], [disk]);
    }),
  );

  clause('32a', async () => {
    const existing = await world.objects();
    for (const args of [
      [0, {}, null],
      [-1, {}, null],
      [1.5, {}, null],
      ['64', {}, null],
      [1e30, {}, null],
      [64, { storage_class: 'there-is-none' }, null],
      [64, { no_such_key: 1 }, null],
      [64, [], null],
    ]) {
      const { error } = await world.request('create_disk', args);
      assert.ok(error !== null, JSON.stringify(args));
    }
    assert.deepEqual(await world.objects(), existing);
  });

  clause('33a', async () => {
    const disk = await world.newDisk();
    assert.equal(await world.call('has_disk', disk), true);
    for (const other of [`disk-${randomUUID()}`, 'garbage', '../../etc', 'disk-A B', '', 'x'.repeat(300)]) {
      assert.equal(await world.call('has_disk', other), false, other);
    }
    const elsewhere = { settings: { kubernetes: { namespace: world.otherNamespace } } };
    assert.equal((await world.request('has_disk', [disk], elsewhere)).result, false);
    for (const kubeconfig of [nowhere, stranger(world.target)]) {
      const settings = { settings: { kubernetes: { kubeconfig }, deadlines: soon } };
      await world.refuses('CloudError', 'has_disk', [disk], settings);
    }
    const forbidden = await world.refuses('CloudError', 'has_disk', [disk], {
      settings: { kubernetes: { namespace: 'default' } },
    });
    assert.match(forbidden, /lacks the verb "get" on "persistentvolumeclaims" .*in namespace default/u);
    await remove([], [disk]);
  });

  clause('33b', async () => {
    await world.call('delete_disk', `disk-${randomUUID()}`);
  });

  clause('33c', async () => {
    const vm = await world.newVm();
    const disk = await attached(vm);
    await world.run(vm, `echo precious > ${store(disk)}/content`);
    const message = await world.refuses('CloudError', 'delete_disk', [disk]);
    assert.match(message, new RegExp(vm, 'u'));
    assert.equal(await world.run(vm, `cat ${store(disk)}/content`), 'precious\n');
    assert.equal((await claimOf(disk)).metadata.deletionTimestamp, undefined);
    await remove([vm], [disk]);
  });

  clause('33d', async () => {
    const disk = await world.newDisk();
    const reference = { resource: persistentVolumeClaims, namespace: world.namespace, name: disk };
    const { finalizers = [] } = (await claimOf(disk)).metadata;
    await world.api.patch(reference, { metadata: { finalizers: [...finalizers, 'conformance.test/held'] } });
    const settings = { settings: { deadlines: { delete_disk: 2 } } };
    const { error } = await world.request('delete_disk', [disk], settings);
    assert.match(error?.message ?? '', /conformance\.test\/held/u);
    const { finalizers: leftovers = [] } = (await claimOf(disk)).metadata;
    await world.api.patch(reference, {
      metadata: { finalizers: leftovers.filter((name) => name !== 'conformance.test/held') },
    });
    await world.call('delete_disk', disk);
  });

  clause('34a', async () => {
    const vm = await world.newVm();
    const disk = await world.newDisk({}, vm);
    const hint = await world.call('attach_disk', vm, disk);
    assert.ok(hint !== null && hint !== '');
    await world.run(vm, `test -d ${store(disk)}`);
    await remove([vm], [disk]);
  });

  clause('34b', async () => {
    const vm = await world.newVm();
    const disk = await world.newDisk({}, vm);
    const hint = await world.call('attach_disk', vm, disk);
    assert.deepEqual(await world.call('attach_disk', vm, disk), hint);
    assert.deepEqual((await world.objects()).attachments.length, 1);
    await remove([vm], [disk]);
  });

  clause('34c', async () => {
    const [vm, other] = [await world.newVm(), await world.newVm()];
    const disk = await attached(vm);
    const message = await world.refuses('CloudError', 'attach_disk', [other, disk]);
    assert.match(message, new RegExp(vm, 'u'));
    assert.deepEqual(await world.call('get_disks', vm), [disk]);
    assert.deepEqual(await world.call('get_disks', other), []);
    await remove([vm, other], [disk]);
  });

  clause('34d', async () => {
    const disk = await world.newDisk();
    await world.refuses('VMNotFound', 'attach_disk', [`vm-${randomUUID()}`, disk]);
    await remove([], [disk]);
  });

  clause('34e', async () => {
    const vm = await world.newVm();
    await world.refuses('DiskNotFound', 'attach_disk', [vm, `disk-${randomUUID()}`]);
    await remove([vm], []);
  });

  clause('35a', async () => {
    const vm = await world.newVm();
    const disks = [await attached(vm), await attached(vm)];
    for (const disk of disks) await world.run(vm, `echo ${disk} > ${store(disk)}/content`);
    assert.deepEqual((await world.call<string[]>('get_disks', vm)).toSorted(), disks.toSorted());
    for (const disk of disks) {
      assert.equal(await world.run(vm, `cat ${store(disk)}/content`), `${disk}\n`);
      await world.call('detach_disk', vm, disk);
    }
    await remove([vm], disks);
  });

  clause('35b', async () => {
    const vm = await world.newVm();
    const life = async (): Promise<unknown> => {
      const { metadata, status } = await world.pod(vm);
      const container = status?.containerStatuses?.find(({ name }) => name === 'bosh');
      const agent = await until('the agent to listen', async () =>
        /^\d+ \d+\n$/u.exec(await world.run(vm, listeningAgents))?.at(0),
      );
      return [metadata.uid, status?.podIP, container?.restartCount, agent];
    };
    const lifeBeforeAttach = await life();
    const disk = await attached(vm);
    assert.deepEqual(await life(), lifeBeforeAttach);
    await world.call('detach_disk', vm, disk);
    assert.deepEqual(await life(), lifeBeforeAttach);
    await remove([vm], [disk]);
  });

  clause('37a', async () => {
    const vm = await world.newVm();
    const disk = await world.newDisk();
    await world.refuses('DiskNotAttached', 'detach_disk', [vm, disk]);
    // the same call again, as after one that was killed
    const detached = await attached(vm);
    for (let remaining = 2; remaining > 0; remaining -= 1) await world.call('detach_disk', vm, detached);
    await remove([vm], [disk, detached]);
  });

  clause('37b', async () => {
    const disk = await world.newDisk();
    const { error } = await world.request('detach_disk', [`vm-${randomUUID()}`, disk]);
    assert.match(error?.type ?? '', /^Bosh::Clouds::(VMNotFound|DiskNotAttached)$/u);
    await remove([], [disk]);
  });

  clause('37c', async () => {
    const vm = await world.newVm();
    const disk = await attached(vm);
    await world.run(vm, `cd ${store(disk)} && { setsid sleep 600 < /dev/null > busy 2>&1 & echo $! > pid; }`);
    const { error } = await world.request('detach_disk', [vm, disk]);
    assert.match(error?.message ?? '', new RegExp(disk, 'u'));
    assert.deepEqual(await world.call('get_disks', vm), [disk]);
    await world.run(vm, `kill -9 "$(cat ${store(disk)}/pid)"`);
    await world.call('detach_disk', vm, disk);
    await remove([vm], [disk]);
  });

  clause('37d', async () => {
    const [vm, other] = [await world.newVm(), await world.newVm()];
    const disk = await attached(vm);
    await world.run(vm, `echo moved > ${store(disk)}/content`);
    await world.call('detach_disk', vm, disk);
    assert.deepEqual(await world.call('get_disks', vm), []);
    await world.call('attach_disk', other, disk);
    assert.equal(await world.run(other, `cat ${store(disk)}/content`), 'moved\n');
    await remove([vm, other], [disk]);
  });

  clause('24d', async () => {
    const vm = await world.newVm();
    const disk = await attached(vm);
    await world.run(vm, `echo survived > ${store(disk)}/content`);
    await world.call('delete_vm', vm);
    assert.equal(await world.call('has_disk', disk), true);
    await until('the attachment to be gone', async () => (await world.objects()).attachments.length === 0);
    const other = await world.newVm();
    await world.call('attach_disk', other, disk);
    assert.equal(await world.run(other, `cat ${store(disk)}/content`), 'survived\n');
    await remove([other], [disk]);
  });

  clause('38a', async () => {
    const vm = await world.newVm();
    assert.deepEqual(await world.call('get_disks', vm), []);
    const disks = [await attached(vm), await attached(vm)];
    assert.deepEqual((await world.call<string[]>('get_disks', vm)).toSorted(), disks.toSorted());
    await remove([vm], disks);
  });

  clause('38b', async () => {
    await world.refuses('VMNotFound', 'get_disks', [`vm-${randomUUID()}`]);
  });

  clause('41a', async () => {
    const disk = await world.newDisk();
    const values = {
      director: 'a director',
      deployment: 'cf',
      instance_id: 'router/0b1c',
      instance_index: 0,
      attached_at: '2026-11-21',
      long: 'x'.repeat(300),
      umlaut: 'größe',
      nothing: null,
      truth: true,
      'a key/with "signs"': 'value',
    };
    await world.call('set_disk_metadata', disk, values);
    await world.call('set_disk_metadata', disk, values);
    const { labels, annotations } = (await claimOf(disk)).metadata;
    assert.equal(labels?.['bosh.cloudfoundry.org/deployment'], 'cf');
    for (const value of ['router/0b1c', 'größe', 'x'.repeat(300)]) {
      assert.ok(JSON.stringify(annotations).includes(value), value);
    }
    assert.ok(labels['bosh.cloudfoundry.org/director'] !== undefined);
    await world.call('set_disk_metadata', disk, { deployment: 'other' });
    const { metadata } = await claimOf(disk);
    assert.equal(metadata.labels?.['bosh.cloudfoundry.org/deployment'], 'other');
    assert.equal(metadata.labels['bosh.cloudfoundry.org/director'], undefined);
    assert.doesNotMatch(JSON.stringify(metadata), /router\/0b1c|größe|xxx/u);
    await world.refuses('DiskNotFound', 'set_disk_metadata', [`disk-${randomUUID()}`, values]);
    await remove([], [disk]);
  });

  clause('41b', async () => {
    const existing = await world.objects();
    const message = await world.refuses('NotSupported', 'create_disk', [64, { name: 'scratch-1' }, null]);
    assert.match(message, /dynamic disk/u);
    assert.deepEqual(await world.objects(), existing);
    const disk = await world.newDisk();
    await world.call('set_disk_metadata', disk, {
      director: 'd',
      deployment: 'cf',
      'caller/key': 'of the caller',
    });
    assert.match(JSON.stringify((await claimOf(disk)).metadata.annotations), /of the caller/u);
    await remove([], [disk]);
  });
});
