import assert from 'node:assert/strict';
import { recreate, store, type VerbCase, type VerbWorld } from './verb-world.ts';

const services = [{ name: 'combined', selector: 'vm', ports: [{ port: 80, target_port: 8080 }] }];

const twoDisks = async (verbs: VerbWorld, vm: string): Promise<string> => {
  await verbs.attached(vm);
  await verbs.attached(vm);
  return vm;
};

/** Deletes a VM. Its disks must be kept. */
export const deletionBesideDisks: VerbCase = {
  ...{ row: 'delete_vm (recreate, a disk attached)', title: 'delete_vm (recreate, two disks attached)' },
  method: 'delete_vm',
  prepare: async (verbs) => [await twoDisks(verbs, await verbs.newRecreated())],
  check: async (verbs) => keepsDisks(verbs, 2),
};

/**
 * Combinations of the rows of `verbCases`: two strategies, Services or disks at once. Only for kills, and run
 * by hand.
 */
export const combinedCases: readonly VerbCase[] = [
  {
    ...{ row: 'create_vm (recreate, a Service)', method: 'create_vm', settings: recreate },
    prepare: async (verbs) => verbs.world.vmArguments({ properties: { services } }),
    check: async (verbs, _, result) => verbs.world.call('delete_vm', (result as [string])[0]),
  },
  {
    ...{ row: 'delete_vm (recreate, a Service)', method: 'delete_vm' },
    prepare: async (verbs) => [await verbs.newRecreated({ properties: { services } })],
  },
  {
    ...{ row: 'attach_disk (recreate)', title: 'attach_disk (recreate, a second disk)' },
    method: 'attach_disk',
    prepare: async (verbs) => {
      const own = await verbs.newRecreated();
      await verbs.attached(own);
      return [own, await verbs.world.newDisk({}, own)];
    },
    check: fillsAndHasAllDisks,
  },
  {
    ...{ row: 'detach_disk (recreate)', title: 'detach_disk (recreate, a second disk)' },
    method: 'detach_disk',
    prepare: async (verbs) => {
      const own = await verbs.newRecreated();
      await verbs.attached(own);
      return [own, await verbs.attached(own)];
    },
    check: keepsTheOther,
  },
  {
    ...{ row: 'attach_disk (a second disk)', method: 'attach_disk' },
    prepare: async (verbs) => {
      const own = await verbs.world.newVm();
      await verbs.attached(own);
      return [own, await verbs.world.newDisk({}, own)];
    },
    check: fillsAndHasAllDisks,
  },
  {
    ...{ row: 'detach_disk (a second disk)', method: 'detach_disk' },
    prepare: async (verbs) => {
      const own = await verbs.world.newVm();
      await verbs.attached(own);
      return [own, await verbs.attached(own)];
    },
    check: keepsTheOther,
  },
  {
    ...{ row: 'reboot_vm (two disks attached)', method: 'reboot_vm' },
    prepare: async (verbs) => [await twoDisks(verbs, await verbs.world.newVm())],
    check: async (verbs, [own]) => hasDisks(verbs, own as string, 2),
  },
  {
    ...{ row: 'reboot_vm (recreate, a disk attached)', method: 'reboot_vm' },
    prepare: async (verbs) => {
      const own = await verbs.newRecreated();
      await verbs.attached(own);
      return [own];
    },
    check: async (verbs, [own]) => hasDisks(verbs, own as string, 1),
  },
];

/** Asserts that there are `count` disks, and that each can be attached to another VM and has its content. */
async function keepsDisks(verbs: VerbWorld, count: number): Promise<void> {
  const { disks } = await verbs.world.objects();
  assert.equal(disks.length, count);
  for (const disk of disks) await verbs.isKept(disk);
}

async function fillsAndHasAllDisks(verbs: VerbWorld, [own, second]: readonly unknown[]): Promise<void> {
  await verbs.fill(second as string, own as string);
  await hasDisks(verbs, own as string, 2);
}

/**
 * Asserts that the detached disk has its content and that the VM still has the other one. Deletes everything.
 */
async function keepsTheOther(verbs: VerbWorld, [own, detached]: readonly unknown[]): Promise<void> {
  await verbs.isKept(detached as string);
  await hasDisks(verbs, own as string, 1);
}

/**
 * Asserts that there are `count` disks and that the VM has all of them, each with its content. Then deletes
 * everything.
 */
async function hasDisks(verbs: VerbWorld, vm: string, count: number): Promise<void> {
  const { disks } = await verbs.world.objects();
  assert.equal(disks.length, count);
  assert.deepEqual((await verbs.world.call<string[]>('get_disks', vm)).toSorted(), disks);
  for (const disk of disks) assert.equal(await verbs.world.run(vm, `cat ${store(disk)}/content`), 'kept\n');
  await verbs.world.call('delete_vm', vm);
  await keepsDisks(verbs, count);
}
