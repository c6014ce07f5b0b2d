import assert from 'node:assert/strict';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { setDiskMetadata } from './disk/set-disk-metadata.ts';
import { type CrashCase, testCrashes } from './testing/crash-case.ts';
import {
  type TestCloud,
  createVmArguments,
  namesLeft,
  namespace,
  vmCidOfTest as vmCid,
} from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { hasVm } from './vm/has-vm.ts';
import { recordedDiskCids } from './vm/recorded-pod.ts';
import { waitForClaimDeletion } from './vm/claims.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';

const withDisk = async (cloud: CallContext): Promise<string[]> => {
  await createVm(cloud, createVmArguments());
  return [vmCid, await createDisk(cloud, [64, {}, vmCid])];
};

const attached = async (cloud: CallContext): Promise<string[]> => {
  const args = await withDisk(cloud);
  await attachDisk(cloud, args);
  return args;
};

const recreate = { kubernetes: { attach: 'recreate' } };
const ownClaims = [`persistentvolumeclaims ${vmCid}-data`, `persistentvolumeclaims ${vmCid}-state`];
const oneVm = [`pods ${vmCid}`, `secrets ${vmCid}`];

const cases: readonly CrashCase[] = [
  {
    name: 'create_vm',
    prepare: () => Promise.resolve(createVmArguments()),
    verb: createVm,
    writes: 3,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), oneVm),
  },
  {
    name: 'create_vm that replaces a VM',
    prepare: async (cloud) => {
      await createVm(cloud, createVmArguments());
      return createVmArguments({ env: { changed: 'yes' } });
    },
    verb: createVm,
    writes: 6,
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
    verb: detachDisk,
    writes: 2,
    check: async ({ api }, [, disk]) =>
      assert.deepEqual(await namesLeft(api), [...oneVm, `persistentvolumeclaims ${String(disk)}`]),
  },
  {
    name: 'create_vm under recreate',
    config: recreate,
    prepare: () => Promise.resolve(createVmArguments()),
    verb: createVm,
    writes: 6,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), [...oneVm, ...ownClaims]),
  },
  {
    name: 'attach_disk under recreate',
    config: recreate,
    prepare: withDisk,
    verb: attachDisk,
    writes: 5,
    check: checkSecondDisk,
  },
  {
    name: 'attach_disk of a second disk under recreate',
    config: recreate,
    prepare: async (cloud) => {
      await attached(cloud);
      return [vmCid, await createDisk(cloud, [64, {}, vmCid])];
    },
    verb: attachDisk,
    writes: 5,
    check: checkSecondDisk,
  },
  {
    name: 'detach_disk under recreate',
    config: recreate,
    prepare: attached,
    verb: detachDisk,
    writes: 5,
    check: async ({ api, cloud }, [, disk]) => {
      const claims = [...ownClaims, `persistentvolumeclaims ${String(disk)}`].toSorted();
      assert.deepEqual(await namesLeft(api), [...oneVm, ...claims]);
      assert.deepEqual(await getDisks(cloud, [vmCid]), []);
      assert.deepEqual(await volumesOf(cloud), []);
      await deleteVm(cloud, [vmCid]);
      await createVm(cloud, createVmArguments());
      await attachDisk(cloud, [vmCid, disk]);
      await detachDisk(cloud, [vmCid, disk]);
    },
  },
  {
    name: 'delete_vm under recreate',
    config: recreate,
    prepare: attached,
    verb: (cloud, [cid]) => deleteVm(cloud, [cid]),
    writes: 2,
    check: async ({ api, cloud }, [, disk]) => {
      // a call that finds nothing any more does not wait for the objects that the garbage collector deletes
      await waitForClaimDeletion(cloud, vmCid);
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${String(disk)}`]);
    },
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
    writes: 2,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), []),
  },
];

/**
 * Checks that the disk is attached, by the record, by the pod and by the result of get_disks, after the disks
 * that were attached before.
 */
async function checkSecondDisk({ cloud }: TestCloud, [, disk]: readonly unknown[]): Promise<void> {
  const disks = await getDisks(cloud, [vmCid]);
  assert.equal(disks.at(-1), disk);
  assert.deepEqual(await volumesOf(cloud), disks);
}

async function volumesOf({ api }: CallContext): Promise<string[]> {
  return recordedDiskCids(await api.get<Pod>({ resource: pods, namespace, name: vmCid }));
}

testCrashes(cases);
