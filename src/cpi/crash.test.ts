import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Cloud, Verb } from './cloud.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { setDiskMetadata } from './disk/set-disk-metadata.ts';
import { isProductError } from '../errors/product-error.ts';
import { Crash, crashingApi } from './testing/crashing-api.ts';
import type { TestCloud } from './testing/test-cloud.ts';
import { createVmArguments, namesLeft, testCloud, vmCidOfTest as vmCid } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { hasVm } from './vm/has-vm.ts';

interface CrashCase {
  readonly name: string;
  /** The state that the verb starts from; resolves with the verb's arguments. */
  readonly prepare: (cloud: Cloud) => Promise<unknown[]>;
  readonly verb: Verb;
  /** How many writes one call makes at most. */
  readonly writes: number;
  readonly check: (world: TestCloud, args: readonly unknown[]) => Promise<void>;
}

const withDisk = async (cloud: Cloud): Promise<string[]> => {
  await createVm(cloud, createVmArguments());
  return [vmCid, await createDisk(cloud, [64, {}, vmCid])];
};

const attached = async (cloud: Cloud): Promise<string[]> => {
  const args = await withDisk(cloud);
  await attachDisk(cloud, args);
  return args;
};

const oneVm = [`pods ${vmCid}`, `secrets ${vmCid}`];

const cases: readonly CrashCase[] = [
  {
    name: 'create_vm',
    prepare: () => Promise.resolve(createVmArguments()),
    verb: createVm,
    writes: 2,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), oneVm),
  },
  {
    name: 'create_vm that replaces a VM',
    prepare: async (cloud) => {
      await createVm(cloud, createVmArguments());
      return createVmArguments({ env: { changed: 'yes' } });
    },
    verb: createVm,
    writes: 5,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), oneVm),
  },
  {
    name: 'delete_vm',
    prepare: attached,
    verb: (cloud, [cid]) => deleteVm(cloud, [cid]),
    writes: 3,
    check: async ({ api, cloud }, [, disk]) => {
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${String(disk)}`]);
      assert.equal(await hasVm(cloud, [vmCid]), false);
    },
  },
  {
    name: 'attach_disk',
    prepare: withDisk,
    verb: attachDisk,
    writes: 2,
    check: async ({ cloud }, [, disk]) => assert.deepEqual(await getDisks(cloud, [vmCid]), [disk]),
  },
  {
    name: 'detach_disk',
    prepare: attached,
    verb: async (cloud, args) => {
      try {
        return await detachDisk(cloud, args);
      } catch (error) {
        // what a caller is told whose first call was killed at its very end
        if (isProductError(error, 'DISK_NOT_ATTACHED')) return null;
        throw error;
      }
    },
    writes: 1,
    check: async ({ api }, [, disk]) =>
      assert.deepEqual(await namesLeft(api), [...oneVm, `persistentvolumeclaims ${String(disk)}`]),
  },
  {
    name: 'set_disk_metadata',
    prepare: async (cloud) => [await createDisk(cloud, [64, {}, null]), { director: 'd' }],
    verb: setDiskMetadata,
    writes: 1,
    check: async ({ api }, [disk]) =>
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${String(disk)}`]),
  },
  {
    name: 'delete_disk',
    prepare: async (cloud) => [await createDisk(cloud, [64, {}, null])],
    verb: deleteDisk,
    writes: 1,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), []),
  },
];

for (const crashCase of cases) {
  for (let write = 1; write <= crashCase.writes; write += 1) {
    for (const moment of ['before', 'after'] as const) {
      test(`${crashCase.name}: killed ${moment} write ${write}, then called again`, (t) =>
        killedThenAgain(t, crashCase, write, moment));
    }
  }
}

async function killedThenAgain(
  t: TestContext,
  { prepare, verb, check }: CrashCase,
  write: number,
  moment: 'before' | 'after',
): Promise<void> {
  const world = await testCloud(t);
  const args = await prepare(world.cloud);
  const dying = { ...world.cloud, api: crashingApi(world.api, write, moment) };
  await assert.rejects(verb(dying, args), (error) => error instanceof Crash);
  await verb(world.cloud, args);
  await check(world, args);
  await verb(world.cloud, args);
  await check(world, args);
}
