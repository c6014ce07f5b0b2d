import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configMaps, pods } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { WireSubject } from './subject.ts';
import { exchange } from './wire.ts';

const all = { dryRun: 'All' };

/** `dryRun=All` (kubernetes.io: Kubernetes API Concepts, dry-run): every stage except the last. */
export function dryRunContract(makeSubject: () => Promise<WireSubject>): void {
  let subject: WireSubject;
  before(async () => {
    subject = await makeSubject();
    await subject.api.create(configMaps, configMap(subject.namespace, 'kept', { data: { a: '1' } }));
  });
  after(() => subject.end());

  const dataOf = async (name: string): Promise<unknown> =>
    (await exchange(subject, configMaps, { name })).json['data'];

  test('a dry-run create returns the defaults and stores nothing', async () => {
    const { namespace } = subject;
    const body = unschedulablePod(namespace, 'dry');
    const { status, json } = await exchange(subject, pods, { method: 'POST', query: all, body });
    assert.equal(status, 201);
    assert.partialDeepStrictEqual(json, { spec: { restartPolicy: 'Always' }, status: { phase: 'Pending' } });
    assert.equal((json['metadata'] as { resourceVersion?: string }).resourceVersion, undefined);
    assert.equal((await exchange(subject, pods, { name: 'dry' })).status, 404);
  });

  test('our client requests a dry run of a create', async () => {
    const { api, namespace } = subject;
    const made = await api.dryRunCreate(pods, unschedulablePod(namespace, 'dry'));
    assert.equal(made.metadata.name, 'dry');
    await assert.rejects(api.get({ resource: pods, namespace, name: 'dry' }), { code: 404 });
    await assert.rejects(api.dryRunCreate(configMaps, configMap(namespace, 'kept')), {
      code: 409,
    });
  });

  test('admission and validation run', async () => {
    const { namespace } = subject;
    const post = (resource: typeof pods, body: unknown): ReturnType<typeof exchange> =>
      exchange(subject, resource, { method: 'POST', query: all, body });
    assert.equal((await post(configMaps, configMap(namespace, 'Bad'))).status, 422);
    assert.equal((await post(configMaps, configMap(namespace, 'kept'))).status, 409);
  });

  test('a dry run of an update, a patch or a delete responds and stores nothing', async () => {
    const { namespace } = subject;
    const object = configMap(namespace, 'kept', { data: { a: '2' } });
    const put = await exchange(subject, configMaps, {
      method: 'PUT',
      name: 'kept',
      query: all,
      body: object,
    });
    assert.deepEqual([put.status, put.json['data']], [200, { a: '2' }]);
    const patches: [string, unknown][] = [
      ['application/merge-patch+json', { data: { a: '2' } }],
      ['application/strategic-merge-patch+json', { data: { a: '2' } }],
      ['application/json-patch+json', [{ op: 'replace', path: '/data/a', value: '2' }]],
    ];
    for (const [contentType, body] of patches) {
      const change = { method: 'PATCH', name: 'kept', query: all, contentType, body } as const;
      const { status, json } = await exchange(subject, configMaps, change);
      assert.deepEqual([status, json['data']], [200, { a: '2' }], contentType);
    }
    assert.equal(
      (await exchange(subject, configMaps, { method: 'DELETE', name: 'kept', query: all })).status,
      200,
    );
    const inBody = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] };
    assert.equal(
      (await exchange(subject, configMaps, { method: 'DELETE', name: 'kept', body: inBody })).status,
      200,
    );
    assert.equal((await exchange(subject, configMaps, { method: 'DELETE', query: all })).status, 200);
    assert.deepEqual(await dataOf('kept'), { a: '1' });
  });

  test('a binding and an eviction change nothing', async () => {
    const { api, namespace } = subject;
    const name = 'dry-subresources';
    await api.create(pods, unschedulablePod(namespace, name));
    const target = { apiVersion: 'v1', kind: 'Node', name: 'nowhere' };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    const bound = await exchange(subject, pods, {
      method: 'POST',
      name,
      subresource: 'binding',
      query: all,
      body: binding,
    });
    assert.equal(bound.status, 201);
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
    const evicted = await exchange(subject, pods, {
      method: 'POST',
      name,
      subresource: 'eviction',
      query: all,
      body: eviction,
    });
    assert.equal(evicted.status, 201);
    const { status, json } = await exchange(subject, pods, { name });
    assert.deepEqual([status, (json['spec'] as { nodeName?: string }).nodeName], [200, undefined]);
  });

  test('dryRun accepts only All', async () => {
    const body = configMap(subject.namespace, 'some');
    const { status } = await exchange(subject, configMaps, {
      method: 'POST',
      query: { dryRun: 'Some' },
      body,
    });
    assert.equal(status, 422);
  });
}
