import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import { podDisruptionBudgets, pods, secrets } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import type { Director } from '../director/director.ts';
import { fakeDirector } from '../director/testing/fake-director.ts';
import { label } from '../labels.ts';
import { countingApi } from '../testing/counting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmArguments, groupEnv, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';

const wanted = (changes: { env?: object; properties?: object } = {}): unknown[] =>
  createVmArguments({
    agentId: randomUUID(),
    networks: { default: { type: 'dynamic' } },
    properties: { disruption_budget: true },
    env: groupEnv('router'),
    ...changes,
  });

/** Cids of two VMs that are made with these changes. */
async function twoVms(cloud: Cloud, changes: Parameters<typeof wanted>[0] = {}): Promise<string[]> {
  const [one] = await createVm(cloud, wanted(changes));
  const [other] = await createVm(cloud, wanted(changes));
  return [one, other];
}

const budgets = async ({ api }: Cloud): Promise<number> =>
  (await api.list(podDisruptionBudgets, { namespace })).items.length;

async function labelled({ api }: Cloud): Promise<number> {
  const lists = await Promise.all(
    [pods, secrets].map((resource) =>
      api.list(resource, { namespace, labelSelector: label.disruptionBudget }),
    ),
  );
  return lists.flatMap(({ items }) => items).length;
}

test('a service gets what it asks for', async (t) => {
  const { cloud } = await testCloud(t);
  const director = fakeDirector();
  await twoVms({ ...cloud, director });
  assert.deepEqual([await budgets(cloud), await labelled(cloud)], [1, 4]);
  const group = { deployment: 'deployment', instanceGroup: 'router' };
  assert.deepEqual(director.asked, [group, group]);
});

test("an errand's VMs are made, without a budget and without its label, and the log says why", async (t) => {
  const { cloud } = await testCloud(t);
  const notes: string[] = [];
  const director = fakeDirector({ 'deployment/router': 'errand' });
  const vms = await twoVms({ ...cloud, director, note: (line) => void notes.push(line) });
  assert.equal((await cloud.api.list(pods, { namespace })).items.length, vms.length);
  assert.deepEqual([await budgets(cloud), await labelled(cloud), notes.length], [0, 0, 2]);
  assert.match(notes[0] ?? '', /instance group 'router' of deployment 'deployment' is an errand/u);
});

test('where the manifest has a variable instead there is none, and the log says why', async (t) => {
  const { cloud } = await testCloud(t);
  const notes: string[] = [];
  const director = fakeDirector({ 'deployment/router': 'undecided' });
  await twoVms({ ...cloud, director, note: (line) => void notes.push(line) });
  assert.deepEqual([await budgets(cloud), await labelled(cloud), notes.length], [0, 0, 2]);
  assert.match(notes[0] ?? '', /variable.*instance group 'router' of deployment 'deployment'/u);
});

test('nobody is asked for a VM that asks for none, for a compilation VM, for one of create-env, and when a VM goes', async (t) => {
  const { cloud } = await testCloud(t);
  const director = fakeDirector();
  const asking = { ...cloud, director };
  await twoVms(asking, { properties: {} });
  await twoVms(asking, { properties: { disruption_budget: false } });
  await twoVms(asking, { env: groupEnv(`compilation-${randomUUID()}`) });
  await twoVms(asking, { env: {} });
  const { items } = await cloud.api.list(pods, { namespace });
  assert.equal(items.length, 8);
  const vms = await twoVms(asking);
  director.asked.length = 0;
  for (const vm of vms) await deleteVm(asking, [vm]);
  assert.deepEqual(director.asked, []);
});

test('without a director it is refused before anything is asked or made, with the property and the next step', async (t) => {
  const { cloud } = await testCloud(t);
  const { api, requests } = countingApi(cloud.api);
  await assert.rejects(
    createVm({ ...cloud, api, director: undefined }, wanted()),
    rejection(
      'NOT_SUPPORTED',
      /disruption_budget is true/u,
      /instance group 'router' of deployment 'deployment'/u,
      /set the property director of the CPI/u,
    ),
  );
  assert.deepEqual(requests, { reads: [], writes: [] });
});

test('without a director a VM that would get no budget is made all the same', async (t) => {
  const { cloud } = await testCloud(t);
  const alone = { ...cloud, director: undefined };
  for (const env of [{}, groupEnv(`compilation-${randomUUID()}`)]) await createVm(alone, wanted({ env }));
  assert.deepEqual([await budgets(cloud), await labelled(cloud)], [0, 0]);
});

test('a group whose deployment nobody names gets none, and the log says why', async (t) => {
  const { cloud } = await testCloud(t);
  const notes: string[] = [];
  const noting = { ...cloud, note: (line: string) => void notes.push(line) };
  await twoVms(noting, { env: { bosh: { group: 'd-router' } } });
  assert.deepEqual([await budgets(cloud), await labelled(cloud)], [0, 0]);
  assert.match(notes[0] ?? '', /env\.bosh\.groups/u);
});

for (const [code, expected] of [
  ['DIRECTOR_UNREACHABLE', 'VM_CREATION_FAILED_RETRY'],
  ['DIRECTOR_ERROR', 'VM_CREATION_FAILED'],
] as const)
  test(`${code} of the director is ${expected}, and nothing was made`, async (t) => {
    const { cloud } = await testCloud(t);
    const { api, requests } = countingApi(cloud.api);
    const director: Director = {
      lifecycleOf: () => Promise.reject(new ProductError(code, 'the director is away; wait for it')),
    };
    await assert.rejects(
      createVm({ ...cloud, api, director }, wanted()),
      rejection(expected, /the director is away; wait for it/u),
    );
    assert.deepEqual(requests, { reads: [], writes: [] });
  });
