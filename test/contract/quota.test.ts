import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { configMaps, persistentVolumeClaims, pods, resourceQuotas } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import { made, makePolicySubject, type PolicySubject } from './policy-subject.ts';
import { until } from '../support/until.ts';

/**
 * ResourceQuota (kubernetes: pkg/quota/v1, apiserver pkg/admission/plugin/resourcequota,
 * pkg/controller/resourcequota).
 */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

type Quota = KubernetesObject & { status?: { hard?: Record<string, string>; used?: Record<string, string> } };

/**
 * Creates a quota and waits until admission enforces it: the cache of admission follows the store. A quota of
 * zero Services shows that.
 */
async function limit(name: string, limits: Readonly<Record<string, string>>): Promise<void> {
  const { admin, namespace } = subject;
  const hard = { ...limits, services: '0' };
  await admin.api.create(resourceQuotas, made(namespace, name, { spec: { hard } }));
  await uses(name, Object.fromEntries(Object.keys(hard).map((key) => [key, undefined])));
  const service = made(namespace, 'beyond', { spec: { ports: [{ port: 80 }] } });
  await until(`quota ${name} in admission`, async () => {
    const path = `/api/v1/namespaces/${namespace}/services?dryRun=All`;
    const { status, body } = await admin.call('POST', path, service);
    return status === 403 && String(body['message']).includes(`exceeded quota: ${name},`) ? true : undefined;
  });
}

/** Waits until the quota's status has these values; undefined matches any value. */
async function uses(name: string, expected: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { admin, namespace } = subject;
  await until(`quota ${name} with ${JSON.stringify(expected)}`, async () => {
    const { status } = await admin.api.get<Quota>({ resource: resourceQuotas, namespace, name });
    const isSo = Object.entries(expected).every(([key, value]) =>
      value === undefined ? status?.used?.[key] !== undefined : status?.used?.[key] === value,
    );
    return isSo ? true : undefined;
  });
}

async function lift(name: string): Promise<void> {
  await subject.admin.api.delete({ resource: resourceQuotas, namespace: subject.namespace, name });
}

/** Creates an object for which a quota has room again: admission may see that later than the status. */
async function admitted(resource: Resource, object: KubernetesObject): Promise<void> {
  const name = object.metadata.name;
  await until(`room for ${name}`, async () => {
    try {
      return await subject.admin.api.create(resource, object);
    } catch (error) {
      if (isApiError(error, 403)) return undefined;
      throw error;
    }
  });
}

function podAsking(name: string, resources: Pod['spec']['containers'][number]['resources']): Pod {
  const pod = unschedulablePod(subject.namespace, name);
  for (const container of pod.spec.containers) container.resources = resources ?? {};
  return pod;
}

const claim = (name: string, storage: string, storageClassName = 'quota-none'): ReturnType<typeof made> =>
  made(subject.namespace, name, {
    spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  });

const forbidden = (message: string) => (error: unknown) => {
  assert(isApiError(error, 403, 'Forbidden'), String(error));
  assert.equal(error.message, message);
  return true;
};

test('pods and their requests are charged at once, released at the end, and refused beyond the quota', async () => {
  const { admin, namespace } = subject;
  await limit('compute', {
    pods: '2',
    'requests.cpu': '1',
    'requests.memory': '1Gi',
    'limits.memory': '2Gi',
  });
  const resources = { requests: { cpu: '600m', memory: '512Mi' }, limits: { memory: '1Gi' } };
  await admin.api.create(pods, podAsking('first', resources));
  await uses('compute', {
    pods: '1',
    'requests.cpu': '600m',
    'requests.memory': '512Mi',
    'limits.memory': '1Gi',
  });
  await assert.rejects(
    admin.api.create(pods, podAsking('second', resources)),
    forbidden(
      'pods "second" is forbidden: exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1',
    ),
  );
  await assert.rejects(
    admin.api.create(pods, podAsking('silent', { requests: { cpu: '1m' } })),
    forbidden(
      'pods "silent" is forbidden: failed quota: compute: must specify limits.memory for: main; requests.memory for: main',
    ),
  );
  const reference = { resource: pods, namespace, name: 'first' };
  await admin.api.patch(reference, { status: { phase: 'Succeeded' } }, { subresource: 'status' });
  await uses('compute', { pods: '0', 'requests.cpu': '0' });
  await admitted(pods, podAsking('second', resources));
  await admin.api.delete({ ...reference, name: 'second' });
  await uses('compute', { pods: '0', 'limits.memory': '0' });
  await lift('compute');
});

test('claims are charged by number, by storage, and by both per class, and a dry run is refused and charges nothing', async () => {
  const { admin, namespace } = subject;
  const ofClass = 'quota-none.storageclass.storage.k8s.io/requests.storage';
  await limit('storage', { persistentvolumeclaims: '2', 'requests.storage': '3Gi', [ofClass]: '1Gi' });
  await admin.api.create(persistentVolumeClaims, claim('one', '1Gi'));
  await assert.rejects(
    admin.api.create(persistentVolumeClaims, claim('two', '1Mi')),
    forbidden(
      `persistentvolumeclaims "two" is forbidden: exceeded quota: storage, requested: ${ofClass}=1Mi, used: ${ofClass}=1Gi, limited: ${ofClass}=1Gi`,
    ),
  );
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims?dryRun=All`;
  assert.equal((await admin.call('POST', path, claim('dry', '1Gi', 'quota-other'))).status, 201);
  assert.equal((await admin.call('POST', path, claim('dry', '9Gi', 'quota-other'))).status, 403);
  await uses('storage', { persistentvolumeclaims: '1', 'requests.storage': '1Gi', [ofClass]: '1Gi' });
  await lift('storage');
});

test('objects of any kind are charged by their count', async () => {
  const { admin, namespace } = subject;
  const { items } = await admin.api.list(configMaps, { namespace });
  await limit('objects', { 'count/configmaps': String(items.length + 1) });
  await admin.api.create(configMaps, configMap(namespace, 'last'));
  await assert.rejects(
    admin.api.create(configMaps, configMap(namespace, 'beyond')),
    forbidden(
      `configmaps "beyond" is forbidden: exceeded quota: objects, requested: count/configmaps=1, used: count/configmaps=${items.length + 1}, limited: count/configmaps=${items.length + 1}`,
    ),
  );
  await admin.api.patch({ resource: configMaps, namespace, name: 'last' }, { data: { a: 'b' } });
  await admin.api.delete({ resource: configMaps, namespace, name: 'last' });
  await uses('objects', { 'count/configmaps': String(items.length) });
  await admitted(configMaps, configMap(namespace, 'beyond'));
  await lift('objects');
});

// apiserver: pkg/registry/generic/registry/store.go create calls createValidation, which is admission, before
// Storage.Create
test('a full quota answers 403 before 409 for an existing name', async () => {
  const { admin, namespace } = subject;
  const there = configMap(namespace, 'there');
  await admitted(configMaps, there);
  const { items } = await admin.api.list(configMaps, { namespace });
  const count = `count/configmaps=${items.length}`;
  await limit('full', { 'count/configmaps': String(items.length) });
  const refused = forbidden(
    `configmaps "there" is forbidden: exceeded quota: full, requested: count/configmaps=1, used: ${count}, limited: ${count}`,
  );
  await assert.rejects(admin.api.create(configMaps, there), refused);
  await assert.rejects(admin.api.dryRunCreate(configMaps, there), refused);
  await lift('full');
  await until('what is there to be in the way', async () => {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const { status, body } = await admin.call('POST', path, there);
    if (status === 403) return undefined;
    assert.deepEqual([status, body['reason']], [409, 'AlreadyExists']);
    return true;
  });
});

test('only one of two concurrent creates gets the last free count', async () => {
  const { admin, namespace } = subject;
  await limit('race', { 'count/secrets': '1' });
  const attempts = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      admin.call('POST', `/api/v1/namespaces/${namespace}/secrets`, made(namespace, `racer-${index}`, {})),
    ),
  );
  const codes = attempts.map((attempt) => (attempt.status === 'fulfilled' ? attempt.value.status : 0));
  assert.equal(codes.filter((code) => code === 201).length, 1, codes.join());
  await uses('race', { 'count/secrets': '1' });
  await lift('race');
});
