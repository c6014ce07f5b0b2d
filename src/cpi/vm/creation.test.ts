import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { CallContext } from '../call.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmRequest, groupEnv, namesLeft, testCloud } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import { setVmMetadata } from './set-vm-metadata.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

/** Two VMs that request the same address. */
const first = (): CreateVmRequest => createVmRequest({ agentId: 'first', env: groupEnv('compilation-1') });
const second = (): CreateVmRequest => createVmRequest({ agentId: 'second', env: groupEnv('compilation-2') });

const failed = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
const away = new ApiError({ ...failed, reason: 'InternalError', code: 500, message: 'connection lost' });

test('a create_vm that fails does not remove the VM that a repeated call has finished', async (t) => {
  const world = await testCloud(t);
  const failing = async (request: string): Promise<void> => {
    if (request !== 'patch secrets vm-first') return;
    await createVm(world.cloud, first());
    await setVmMetadata(world.cloud, { vmCid: 'vm-first', metadata: {} });
    throw away;
  };
  const cloud = { ...world.cloud, api: interceptingApi(world.api, failing) };
  assert.equal((await createVm(cloud, first()))[0], 'vm-first');

  let lists = 0;
  const list: CallContext['api']['list'] = async (resource, query) => {
    if (query?.labelSelector?.includes('ip.bosh') === true && (lists += 1) === 2) {
      await createVm(world.cloud, second());
      throw away;
    }
    return world.api.list(resource, query);
  };
  await deleteVm(world.cloud, { vmCid: 'vm-first' });
  await assert.rejects(
    createVm({ ...world.cloud, api: { ...cloud.api, list } }, second()),
    rejection(
      'VM_CREATION_FAILED_RETRY',
      /not everything of it could be removed: a create_vm has finished it, so it was kept/u,
    ),
  );
  assert.deepEqual((await namesLeft(world.api)).toSorted(), ['pods vm-second', 'secrets vm-second']);
});

test('a last write whose answer was lost has been done: success', async (t) => {
  const world = await testCloud(t);
  const { api } = world;
  const patch: CallContext['api']['patch'] = async (reference, ...more) => {
    await api.patch(reference, ...more);
    throw away;
  };
  const [cid] = await createVm(
    { ...world.cloud, api: { ...interceptingApi(api, () => Promise.resolve()), patch } },
    first(),
  );
  assert.equal(cid, 'vm-first');
});

test('a last write that fails: nothing is left', async (t) => {
  const world = await testCloud(t);
  let isFirst = true;
  const failing = (request: string): Promise<void> => {
    if (request !== 'patch secrets vm-first' || !isFirst) return Promise.resolve();
    isFirst = false;
    return Promise.reject(away);
  };
  const cloud = { ...world.cloud, api: interceptingApi(world.api, failing) };
  await assert.rejects(createVm(cloud, first()), rejection('VM_CREATION_FAILED_RETRY', /connection lost/u));
  assert.deepEqual(await namesLeft(world.api), []);
});
