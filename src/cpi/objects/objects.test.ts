import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { configMaps } from '../../kubernetes/resources.ts';
import { createOrGet } from './objects.ts';
import { namespace, testCloud } from '../testing/test-cloud.ts';

const wanted = { metadata: { namespace, name: 'a' } };

const failure = (code: number, message: string, reason?: string): ApiError =>
  new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message },
    ...(reason !== undefined && { reason }),
  });

/** Returns an API that answers a create with this error. */
const answering = (api: KubernetesApi, error: ApiError): KubernetesApi => ({
  get: (reference) => api.get(reference),
  create: () => Promise.reject(error),
  dryRunCreate: () => Promise.reject(error),
  list: (resource, query) => api.list(resource, query),
  replace: (resource, object) => api.replace(resource, object),
  patch: (reference, patch) => api.patch(reference, patch),
  delete: (reference) => api.delete(reference),
  groups: () => api.groups(),
  watch: (resource, query) => api.watch(resource, query),
});

/** Refusals that a server sends both for objects that exist and for objects that do not. */
const refusals: readonly ApiError[] = [
  failure(403, 'configmaps "a" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: 1'),
  failure(422, 'Service "a" is invalid: spec.clusterIPs: provided IP is already allocated', 'Invalid'),
  failure(400, 'admission webhook "policy.example" denied the request: no'),
];

test('what is not there is made, and found the next time', async (t) => {
  const { api } = await testCloud(t);
  const made = await createOrGet(api, configMaps, wanted);
  assert.equal(made?.isNew, true);
  const found = await createOrGet(api, configMaps, wanted);
  assert.deepEqual(found, { object: made.object, isNew: false });
});

for (const refusal of refusals) {
  test(`${refusal.message}: what is there is found, and what is not is refused so`, async (t) => {
    const { api } = await testCloud(t);
    await assert.rejects(createOrGet(answering(api, refusal), configMaps, wanted), refusal);
    const object = await api.create(configMaps, wanted);
    const found = await createOrGet(answering(api, refusal), configMaps, wanted);
    assert.deepEqual(found, { object, isNew: false });
  });
}

test('what was in the way and is gone: neither made nor found', async (t) => {
  const { api } = await testCloud(t);
  const taken = failure(409, 'configmaps "a" already exists', 'AlreadyExists');
  assert.equal(await createOrGet(answering(api, taken), configMaps, wanted), undefined);
});

test('a server that fails is no answer to whether it is there', async (t) => {
  const { api } = await testCloud(t);
  await api.create(configMaps, wanted);
  const failed = failure(500, 'out of order');
  await assert.rejects(createOrGet(answering(api, failed), configMaps, wanted), failed);
});
