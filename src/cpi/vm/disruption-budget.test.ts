import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { PodDisruptionBudget } from '../../kubernetes/types/service.ts';
import { podDisruptionBudgets, pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { budgetName } from '../objects/names.ts';
import { countingApi } from '../testing/counting-api.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmRequest, groupEnv, namesLeft, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

const group = 'director-deployment-router';
const name = budgetName(group);
const foreign: PodDisruptionBudget = {
  metadata: { name, namespace },
  spec: { minAvailable: 5, selector: { matchLabels: { app: 'other' } } },
};

const member = (agentId: string): CreateVmRequest =>
  createVmRequest({
    agentId,
    networks: { default: { type: 'dynamic' } },
    properties: { disruption_budget: true },
    env: groupEnv('router'),
  });

async function members(cloud: CallContext, count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) await createVm(cloud, member(`${number}`));
}

/** Returns a context in which each of the `requests` (verbs) about a budget fails with this code. */
function answering(
  cloud: CallContext,
  requests: readonly string[],
  code = 403,
): CallContext & { notes: string[] } {
  const notes: string[] = [];
  const api = interceptingApi(cloud.api, (request) => {
    const [verb = '', plural] = request.split(' ');
    if (plural !== podDisruptionBudgets.plural || !requests.includes(verb)) return Promise.resolve();
    const message =
      code === 403
        ? `poddisruptionbudgets.policy "${name}" is forbidden: User "cpi" cannot ${verb} resource "poddisruptionbudgets" in API group "policy" in the namespace "bosh"`
        : 'the server is out of order';
    return Promise.reject(
      new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message }),
    );
  });
  return { ...cloud, api, notes, log: (line) => void notes.push(line) };
}

const numbers = async ({ api }: CallContext): Promise<unknown[]> => {
  const { items } = await api.list<PodDisruptionBudget>(podDisruptionBudgets, { namespace });
  return items.map(({ spec }) => spec.minAvailable);
};

test('a role without PodDisruptionBudgets: create_vm says so before anything is made', async (t) => {
  const { cloud } = await testCloud(t);
  const { api, requests } = countingApi(cloud.api);
  await assert.rejects(
    createVm(answering({ ...cloud, api }, ['get']), member('1')),
    rejection('VM_CREATION_FAILED', /lacks the verb "get" on "poddisruptionbudgets"/u),
  );
  assert.deepEqual(requests.writes, []);
});

test('a budget of that name that is not managed by this CPI: create_vm says so before anything is made', async (t) => {
  const { cloud } = await testCloud(t);
  await cloud.api.create(podDisruptionBudgets, foreign);
  const { api, requests } = countingApi(cloud.api);
  await assert.rejects(
    createVm({ ...cloud, api }, member('1')),
    rejection('NOT_SUPPORTED', /is not managed by this CPI; remove it, or leave out disruption_budget/u),
  );
  assert.deepEqual(requests.writes, []);
});

test('a role that may look at budgets and not make them: create_vm fails, and nothing of the VM is left', async (t) => {
  const { cloud, api } = await testCloud(t);
  await members(cloud, 1);
  await assert.rejects(createVm(answering(cloud, ['create']), member('2')), (error: Error) => {
    assert.match(error.message, /lacks the verb "create" on "poddisruptionbudgets"/u);
    assert.doesNotMatch(error.message, /not everything of it could be removed/u);
    return true;
  });
  assert.deepEqual(await namesLeft(api), ['pods vm-1', 'secrets vm-1']);
});

for (const verb of ['get', 'patch']) {
  test(`a role that may ${verb} no budgets any more: delete_vm says so in the log and leaves nothing`, async (t) => {
    const { cloud, api } = await testCloud(t);
    await members(cloud, 3);
    const refused = answering(cloud, [verb]);
    await deleteVm(refused, { vmCid: 'vm-2' });
    assert.ok(!(await namesLeft(api)).some((left) => left.includes('vm-2')));
    assert.equal(refused.notes.length, 1);
    assert.match(refused.notes[0] ?? '', /group 'director-deployment-router' .*VM 'vm-2'.*lacks the verb/u);
    await deleteVm(refused, { vmCid: 'vm-2' });
    assert.deepEqual(await numbers(cloud), [2]);
    // now the role is complete again, and the next VM corrects the number
    await deleteVm(cloud, { vmCid: 'vm-3' });
    assert.deepEqual(await numbers(cloud), []);
  });
}

test('a foreign budget that came after the VM: delete_vm says so in the log, leaves nothing and leaves it alone', async (t) => {
  const { cloud, api } = await testCloud(t);
  await members(cloud, 1);
  await api.create(podDisruptionBudgets, foreign);
  const notes: string[] = [];
  await deleteVm({ ...cloud, log: (line) => void notes.push(line) }, { vmCid: 'vm-1' });
  assert.deepEqual(await namesLeft(api), []);
  assert.match(notes.join('\n'), /is not managed by this CPI/u);
  assert.deepEqual(await numbers(cloud), [5]);
});

test('what time may mend fails delete_vm when all but the Secret was asked to end; the next call brings the budget, too', async (t) => {
  const { cloud, api } = await testCloud(t);
  await members(cloud, 3);
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid: 'vm-2' });
  await attachDisk(cloud, { vmCid: 'vm-2', diskCid: disk });
  await assert.rejects(deleteVm(answering(cloud, ['patch'], 500), { vmCid: 'vm-2' }), /out of order/u);
  const { items } = await api.list(pods, { namespace });
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.deepEqual(
    staying.map(({ metadata }) => metadata.name),
    ['vm-1', 'vm-3'],
  );
  assert.ok((await namesLeft(api)).includes('secrets vm-2'));
  await deleteVm(cloud, { vmCid: 'vm-2' });
  assert.ok(!(await namesLeft(api)).some((left) => left.includes('vm-2')));
  assert.deepEqual(await numbers(cloud), [1]);
});
