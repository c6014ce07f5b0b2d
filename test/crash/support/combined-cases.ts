import assert from 'node:assert/strict';
import type { VerbCase } from './verb-cases.ts';
import { recreate, store, type VerbWorld } from './verb-world.ts';

const services = [{ name: 'combined', selector: 'vm', ports: [{ port: 80, target_port: 8080 }] }];

const twoDisks = async (verbs: VerbWorld, vm: string): Promise<string> => {
  await verbs.attached(vm);
  await verbs.attached(vm);
  return vm;
};

/** What the rows of `verbCases` do, where one strategy, Service or disk meets another: for kills alone. */
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
    ...{ row: 'delete_vm (recreate, a disk attached)', method: 'delete_vm' },
    prepare: async (verbs) => {
      const own = await verbs.newRecreated();
      await verbs.attached(own);
      return [own];
    },
    check: keepsAllDisks,
  },
  {
    ...{ row: 'attach_disk (a second disk)', method: 'attach_disk' },
    prepare: async (verbs) => {
      const own = await verbs.world.newVm();
      await verbs.attached(own);
      return [own, await verbs.world.newDisk({}, own)];
    },
    check: async (verbs, [own, second]) => {
      await verbs.fill(second as string, own as string);
      await hasAllDisks(verbs, own as string);
    },
  },
  {
    ...{ row: 'detach_disk (a second disk)', method: 'detach_disk', againMayFail: /DiskNotAttached$/u },
    prepare: async (verbs) => {
      const own = await verbs.world.newVm();
      await verbs.attached(own);
      return [own, await verbs.attached(own)];
    },
    check: async (verbs, [own, second]) => {
      await verbs.isKept(second as string);
      await hasAllDisks(verbs, own as string);
    },
  },
  {
    ...{ row: 'reboot_vm (two disks attached)', method: 'reboot_vm' },
    prepare: async (verbs) => [await twoDisks(verbs, await verbs.world.newVm())],
    check: async (verbs, [own]) => hasAllDisks(verbs, own as string),
  },
  {
    ...{ row: 'reboot_vm (recreate, a disk attached)', method: 'reboot_vm' },
    prepare: async (verbs) => {
      const own = await verbs.newRecreated();
      await verbs.attached(own);
      return [own];
    },
    check: async (verbs, [own]) => hasAllDisks(verbs, own as string),
  },
];

/** Each disk that there is can be attached to another VM and has its content. */
async function keepsAllDisks(verbs: VerbWorld): Promise<void> {
  for (const disk of (await verbs.world.objects()).disks) await verbs.isKept(disk);
}

/** The VM has all disks that there are, each with its content; then all goes. */
async function hasAllDisks(verbs: VerbWorld, vm: string): Promise<void> {
  const { disks } = await verbs.world.objects();
  assert.notEqual(disks.length, 0);
  assert.deepEqual((await verbs.world.call<string[]>('get_disks', vm)).toSorted(), disks);
  for (const disk of disks) assert.equal(await verbs.world.run(vm, `cat ${store(disk)}/content`), 'kept\n');
  await verbs.world.call('delete_vm', vm);
  await keepsAllDisks(verbs);
}
