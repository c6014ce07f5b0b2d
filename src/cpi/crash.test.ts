import assert from 'node:assert/strict';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import type { AttachDiskRequest } from './protocol/methods.ts';
import { setDiskMetadata } from './disk/set-disk-metadata.ts';
import { type CrashCase, crashCase, testCrashes } from './testing/crash-case.ts';
import {
  type TestCloud,
  createVmRequest,
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

const withDisk = async (cloud: CallContext): Promise<AttachDiskRequest> => {
  await createVm(cloud, createVmRequest());
  return { vmCid, diskCid: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid }) };
};

const attached = async (cloud: CallContext): Promise<AttachDiskRequest> => {
  const request = await withDisk(cloud);
  await attachDisk(cloud, request);
  return request;
};

const recreate = { kubernetes: { attach: 'recreate' } };
const ownClaims = [`persistentvolumeclaims ${vmCid}-data`, `persistentvolumeclaims ${vmCid}-state`];
const oneVm = [`pods ${vmCid}`, `secrets ${vmCid}`];

const cases: readonly CrashCase[] = [
  crashCase({
    name: 'create_vm',
    prepare: () => Promise.resolve(createVmRequest()),
    verb: createVm,
    writes: 3,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), oneVm),
  }),
  crashCase({
    name: 'create_vm that replaces a VM',
    prepare: async (cloud) => {
      await createVm(cloud, createVmRequest());
      return createVmRequest({ env: { changed: 'yes' } });
    },
    verb: createVm,
    writes: 6,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), oneVm),
  }),
  crashCase({
    name: 'delete_vm',
    prepare: attached,
    verb: deleteVm,
    writes: 3,
    check: async ({ api, cloud }, { diskCid }) => {
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${diskCid}`]);
      assert.equal(await hasVm(cloud, { vmCid }), false);
    },
  }),
  crashCase({
    name: 'attach_disk',
    prepare: withDisk,
    verb: attachDisk,
    writes: 2,
    check: async ({ cloud }, { diskCid }) => assert.deepEqual(await getDisks(cloud, { vmCid }), [diskCid]),
  }),
  crashCase({
    name: 'detach_disk',
    prepare: attached,
    verb: detachDisk,
    writes: 2,
    check: async ({ api }, { diskCid }) =>
      assert.deepEqual(await namesLeft(api), [...oneVm, `persistentvolumeclaims ${diskCid}`]),
  }),
  crashCase({
    name: 'create_vm under recreate',
    config: recreate,
    prepare: () => Promise.resolve(createVmRequest()),
    verb: createVm,
    writes: 6,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), [...oneVm, ...ownClaims]),
  }),
  crashCase({
    name: 'attach_disk under recreate',
    config: recreate,
    prepare: withDisk,
    verb: attachDisk,
    writes: 5,
    check: checkSecondDisk,
  }),
  crashCase({
    name: 'attach_disk of a second disk under recreate',
    config: recreate,
    prepare: async (cloud) => {
      await attached(cloud);
      return { vmCid, diskCid: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid }) };
    },
    verb: attachDisk,
    writes: 5,
    check: checkSecondDisk,
  }),
  crashCase({
    name: 'detach_disk under recreate',
    config: recreate,
    prepare: attached,
    verb: detachDisk,
    writes: 5,
    check: async ({ api, cloud }, { diskCid }) => {
      const claims = [...ownClaims, `persistentvolumeclaims ${diskCid}`].toSorted();
      assert.deepEqual(await namesLeft(api), [...oneVm, ...claims]);
      assert.deepEqual(await getDisks(cloud, { vmCid }), []);
      assert.deepEqual(await volumesOf(cloud), []);
      await deleteVm(cloud, { vmCid });
      await createVm(cloud, createVmRequest());
      await attachDisk(cloud, { vmCid, diskCid });
      await detachDisk(cloud, { vmCid, diskCid });
    },
  }),
  crashCase({
    name: 'delete_vm under recreate',
    config: recreate,
    prepare: attached,
    verb: deleteVm,
    writes: 2,
    check: async ({ api, cloud }, { diskCid }) => {
      // a call that finds nothing any more does not wait for the objects that the garbage collector deletes
      await waitForClaimDeletion(cloud, vmCid);
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${diskCid}`]);
    },
  }),
  crashCase({
    name: 'set_disk_metadata',
    prepare: async (cloud) => ({
      diskCid: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }),
      metadata: { director: 'd' },
    }),
    verb: setDiskMetadata,
    writes: 1,
    check: async ({ api }, { diskCid }) =>
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${diskCid}`]),
  }),
  crashCase({
    name: 'delete_disk',
    prepare: async (cloud) => ({ diskCid: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }) }),
    verb: deleteDisk,
    writes: 2,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), []),
  }),
];

/**
 * Checks that the disk is attached, by the record, by the pod and by the result of get_disks, after the disks
 * that were attached before.
 */
async function checkSecondDisk({ cloud }: TestCloud, { diskCid }: AttachDiskRequest): Promise<void> {
  const disks = await getDisks(cloud, { vmCid });
  assert.equal(disks.at(-1), diskCid);
  assert.deepEqual(await volumesOf(cloud), disks);
}

async function volumesOf({ api }: CallContext): Promise<string[]> {
  return recordedDiskCids(await api.get<Pod>({ resource: pods, namespace, name: vmCid }));
}

testCrashes(cases);
