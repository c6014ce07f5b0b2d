import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallContext } from '../call.ts';
import { type CrashCase, crashCase, testCrashes } from '../testing/crash-case.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { createVmRequest, groupEnv, namesLeft, testCloud } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

const withBudget = { disruption_budget: true };
const argumentsOf = (agentId: string, properties: object = {}): CreateVmRequest =>
  createVmRequest({ agentId, properties, env: groupEnv('web') });

/**
 * Leaves a VM whose create_vm was killed after it created its pod; returns the arguments of the next call.
 */
const unfinished =
  (podWrite: number, properties?: object) =>
  async (cloud: CallContext): Promise<CreateVmRequest> => {
    const dying = { ...cloud, api: crashingApi(cloud.api, podWrite, 'after') };
    await assert.rejects(
      createVm(dying, argumentsOf('first', properties)),
      (error) => error instanceof Crash,
    );
    return argumentsOf('second', properties);
  };

const vmObjects = ['pods vm-second', 'secrets vm-second'];
const claims = ['persistentvolumeclaims vm-second-data', 'persistentvolumeclaims vm-second-state'];
const cases: readonly CrashCase[] = [
  crashCase({
    name: 'create_vm in the place of an unfinished VM',
    prepare: unfinished(2),
    verb: createVm,
    writes: 6,
    check: async ({ api }) => assert.deepEqual((await namesLeft(api)).toSorted(), vmObjects),
  }),
  crashCase({
    name: 'create_vm in the place of an unfinished VM under recreate',
    config: { kubernetes: { attach: 'recreate' } },
    prepare: unfinished(4),
    verb: createVm,
    writes: 8,
    check: async ({ api }) => assert.deepEqual((await namesLeft(api)).toSorted(), [...claims, ...vmObjects]),
  }),
  crashCase({
    name: 'create_vm in the place of an unfinished VM with a budget',
    prepare: unfinished(2, withBudget),
    verb: createVm,
    writes: 6,
    check: async ({ api }) => {
      // the Secret is deleted last; once the pod is deleted, nothing shows that the VM had the address
      const names = (await namesLeft(api)).filter((name) => name !== 'secrets vm-first');
      assert.deepEqual(names.toSorted(), vmObjects);
    },
  }),
];

testCrashes(cases);

for (let write = 1; write <= 6; write += 1)
  test(`create_vm in the place of an unfinished VM: killed before write ${write}, then called with another agent id`, async (t) => {
    const { api, cloud } = await testCloud(t);
    const args = await unfinished(2)(cloud);
    const dying = { ...cloud, api: crashingApi(api, write, 'before') };
    await assert.rejects(createVm(dying, args), (error) => error instanceof Crash);
    await createVm(cloud, argumentsOf('third'));
    // a Secret without a pod has no address
    const left = write === 5 ? ['secrets vm-second'] : [];
    assert.deepEqual((await namesLeft(api)).toSorted(), ['pods vm-third', ...left, 'secrets vm-third']);
  });
