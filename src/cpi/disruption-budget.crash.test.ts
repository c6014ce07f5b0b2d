import assert from 'node:assert/strict';
import type { PodDisruptionBudget } from '../kubernetes/types/service.ts';
import { podDisruptionBudgets } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { crashCase, testCrashes } from './testing/crash-case.ts';
import { createVmRequest, groupEnv, namesLeft, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import type { CreateVmRequest } from './protocol/methods.ts';

const member = (number: number): CreateVmRequest =>
  createVmRequest({
    agentId: `member-${number}`,
    networks: { default: { type: 'dynamic' } },
    properties: { disruption_budget: true },
    env: groupEnv('group'),
  });

const members = async (cloud: CallContext, count: number): Promise<void> => {
  for (let number = 1; number <= count; number += 1) await createVm(cloud, member(number));
};

const assertBudget = async ({ api }: CallContext, wanted: readonly number[]): Promise<void> => {
  const { items } = await api.list<PodDisruptionBudget>(podDisruptionBudgets, { namespace });
  assert.deepEqual(
    items.map(({ spec }) => spec.minAvailable),
    wanted,
  );
};

/** Secret, pod and budget of a VM: the call is killed around each write of them. */
testCrashes([
  crashCase({
    name: 'create_vm into a group with a budget',
    prepare: async (cloud) => {
      await members(cloud, 2);
      return member(3);
    },
    verb: createVm,
    writes: 3,
    check: ({ cloud }) => assertBudget(cloud, [2]),
  }),
  crashCase({
    name: 'delete_vm out of a group with a budget',
    prepare: async (cloud) => {
      await members(cloud, 3);
      return { vmCid: 'vm-member-2' };
    },
    verb: deleteVm,
    writes: 3,
    check: ({ cloud }) => assertBudget(cloud, [1]),
  }),
  crashCase({
    name: 'delete_vm with a disk attached, out of a group with a budget',
    prepare: async (cloud) => {
      await members(cloud, 3);
      const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid: 'vm-member-2' });
      await attachDisk(cloud, { vmCid: 'vm-member-2', diskCid: disk });
      return { vmCid: 'vm-member-2' };
    },
    verb: deleteVm,
    writes: 4,
    check: ({ cloud }) => assertBudget(cloud, [1]),
  }),
  crashCase({
    name: 'delete_vm of the last but one',
    prepare: async (cloud) => {
      await members(cloud, 2);
      return { vmCid: 'vm-member-1' };
    },
    verb: deleteVm,
    writes: 3,
    check: async ({ api, cloud }) => {
      await assertBudget(cloud, []);
      assert.deepEqual(await namesLeft(api), ['pods vm-member-2', 'secrets vm-member-2']);
    },
  }),
]);
