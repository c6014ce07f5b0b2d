import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import type { PodDisruptionBudget } from '../kubernetes/types/service.ts';
import { podDisruptionBudgets, pods } from '../kubernetes/resources.ts';
import { isProductError } from '../errors/product-error.ts';
import { budgetName } from './objects/names.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { type SimulatedWorld, startSimulatedWorld } from './testing/simulated-world.ts';
import { createVmRequest, groupEnv, namesLeft, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';

const networks = { default: { type: 'dynamic' } };
const group = 'director-deployment-router';

async function newVm(
  { cloud }: SimulatedWorld,
  changes: { group?: string; env?: object; budget?: boolean } = {},
): Promise<string> {
  const env = changes.env ?? groupEnv(changes.group ?? 'router');
  const properties = { disruption_budget: changes.budget ?? true };
  const [cid] = await createVm(cloud, createVmRequest({ agentId: randomUUID(), networks, env, properties }));
  return cid;
}

async function budgets({ cloud }: SimulatedWorld): Promise<[string, unknown][]> {
  const { items } = await cloud.api.list<PodDisruptionBudget>(podDisruptionBudgets, { namespace });
  return items.map(({ metadata, spec }) => [metadata.name, spec.minAvailable]);
}

test('all VMs of the group but one have to stay; a group of one has no budget, and the last takes it along', async (t) => {
  const world = await startSimulatedWorld(t);
  const vms = [await newVm(world)];
  assert.deepEqual(await budgets(world), []);
  vms.push(await newVm(world));
  assert.deepEqual(await budgets(world), [[budgetName(group), 1]]);
  vms.push(await newVm(world), await newVm(world, { group: 'other' }));
  assert.deepEqual(await budgets(world), [[budgetName(group), 2]]);
  const [first = '', second = '', third = '', other = ''] = vms;
  await deleteVm(world.cloud, { vmCid: second });
  assert.deepEqual(await budgets(world), [[budgetName(group), 1]]);
  await deleteVm(world.cloud, { vmCid: first });
  assert.deepEqual(await budgets(world), []);
  await deleteVm(world.cloud, { vmCid: third });
  await deleteVm(world.cloud, { vmCid: other });
  assert.deepEqual(await namesLeft(world.cluster.api), []);
});

test('no budget if it is not requested, and none for VMs without a group', async (t) => {
  const world = await startSimulatedWorld(t);
  for (const changes of [{ budget: false }, { budget: false }, { env: {} }, { env: {} }])
    await newVm(world, changes);
  assert.deepEqual(await budgets(world), []);
});

test('the group is env.bosh.group only', async (t) => {
  const world = await startSimulatedWorld(t);
  for (let made = 0; made < 2; made += 1) await newVm(world, { env: { bosh: { group } } });
  assert.deepEqual(await budgets(world), [[budgetName(group), 1]]);
});

test('many VMs are created and deleted concurrently: the number is right in the end', async (t) => {
  const world = await startSimulatedWorld(t);
  const vms = await Promise.all(Array.from({ length: 8 }, () => newVm(world)));
  assert.deepEqual(await budgets(world), [[budgetName(group), 7]]);
  const more = Array.from({ length: 4 }, () => newVm(world));
  await Promise.all(vms.slice(0, 6).map((vm) => deleteVm(world.cloud, { vmCid: vm })));
  const left = [...vms.slice(6), ...(await Promise.all(more))];
  assert.deepEqual(await budgets(world), [[budgetName(group), left.length - 1]]);
  await Promise.all(left.map((vm) => deleteVm(world.cloud, { vmCid: vm })));
  assert.deepEqual(await budgets(world), []);
});

test('a VM that is deleted before its budget exists: the last VM can be drained', async (t) => {
  const world = await startSimulatedWorld(t);
  const former = await newVm(world);
  let isGone = false;
  const api = interceptingApi(world.cloud.api, async (request) => {
    if (isGone || !request.startsWith('create poddisruptionbudgets')) return;
    isGone = true;
    await deleteVm(world.cloud, { vmCid: former });
  });

  await newVm({ ...world, cloud: { ...world.cloud, api } });

  assert.ok(isGone);
  assert.deepEqual(await budgets(world), []);
});

test('the cluster counts the VMs of the group and allows one disruption at a time', async (t) => {
  const world = await startSimulatedWorld(t);
  const vms = [await newVm(world), await newVm(world), await newVm(world)];
  const { status } = await settled(world);
  assert.equal(status?.expectedPods, vms.length);
  assert.equal(status?.disruptionsAllowed, 1);
});

/** Returns the budget after its controller has seen all its pods. */
async function settled({ cloud }: SimulatedWorld): Promise<PodDisruptionBudget> {
  const reference = { resource: podDisruptionBudgets, namespace, name: budgetName(group) };
  return until('the budget to be counted', async () => {
    const found = await cloud.api.get<PodDisruptionBudget>(reference);
    const isCurrent = found.status?.observedGeneration === found.metadata.generation;
    return isCurrent && found.status?.currentHealthy === 3 ? found : undefined;
  });
}

test('a delete_vm that was killed before it updated the budget is finished by the next one', async (t) => {
  const world = await startSimulatedWorld(t);
  const vms = [await newVm(world), await newVm(world), await newVm(world)];
  // the state that a killed call leaves: the pod is deleted, its Secret exists, and the budget's number is
  // unchanged
  await world.cloud.api.delete({ resource: pods, namespace, name: vms[0] ?? '' });
  await until('the pod to go', async () => !(await namesLeft(world.cluster.api)).includes(`pods ${vms[0]}`));
  assert.deepEqual(await budgets(world), [[budgetName(group), 2]]);
  await deleteVm(world.cloud, { vmCid: vms[0] ?? '' });
  assert.deepEqual(await budgets(world), [[budgetName(group), 1]]);
});

test('a budget of that name that the CPI does not manage is not changed', async (t) => {
  const world = await startSimulatedWorld(t);
  const foreign: PodDisruptionBudget = {
    metadata: { name: budgetName(group), namespace },
    spec: { minAvailable: 5, selector: { matchLabels: { app: 'other' } } },
  };
  await world.cloud.api.create<PodDisruptionBudget>(podDisruptionBudgets, foreign);
  await assert.rejects(
    newVm(world),
    (error) => isProductError(error) && error.message.includes('is not managed by this CPI'),
  );
  assert.deepEqual(await budgets(world), [[budgetName(group), 5]]);
});
