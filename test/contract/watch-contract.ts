import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { WatchEvent, WatchQuery } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { configMaps } from '../../src/kubernetes/resources.ts';
import { configMap } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/**
 * Watches (kubernetes.io: Kubernetes API Concepts, efficient detection of changes; apiserver:
 * pkg/endpoints/handlers/watch.go, pkg/storage/cacher). Each test waits for the events it caused, never for
 * time to pass.
 */
export function watchContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  /** Returns the first `count` events as `TYPE name`; the test's time limit ends it if they do not come. */
  async function firstEvents(count: number, query: WatchQuery): Promise<string[]> {
    const ending = new AbortController();
    const { api, namespace } = subject;
    const seen: WatchEvent<KubernetesObject>[] = [];
    for await (const event of api.watch(configMaps, { namespace, ...query, signal: ending.signal })) {
      if (event.type === 'BOOKMARK') continue;
      seen.push(event);
      if (seen.length === count) ending.abort();
    }
    return seen.map(
      (event) => `${event.type} ${event.type === 'ERROR' ? event.object.code : event.object.metadata.name}`,
    );
  }

  const reference = (name: string): { resource: typeof configMaps; namespace: string; name: string } => ({
    resource: configMaps,
    namespace: subject.namespace,
    name,
  });
  const limit = { timeout: 20_000 };

  test('a watch without a version sends the present state first, then the changes', limit, async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'one', { labels: { test: 'present' } }));
    const ending = new AbortController();
    const seen: string[] = [];
    const query = { namespace, labelSelector: 'test=present', signal: ending.signal };
    for await (const event of api.watch(configMaps, query)) {
      if (event.type === 'BOOKMARK') continue;
      seen.push(event.type);
      if (event.type === 'ADDED') await api.delete(reference('one'));
      if (event.type === 'DELETED') ending.abort();
    }
    assert.deepEqual(seen, ['ADDED', 'DELETED']);
  });

  test('a watch continues from a version and misses no event', limit, async () => {
    const { api, namespace } = subject;
    const { metadata } = await api.list(configMaps, { namespace });
    await api.create(configMaps, configMap(namespace, 'two'));
    await api.patch(reference('two'), { data: { a: '1' } });
    await api.delete(reference('two'));
    const seen = await firstEvents(3, { resourceVersion: metadata.resourceVersion });
    assert.deepEqual(seen, ['ADDED two', 'MODIFIED two', 'DELETED two']);
  });

  test('an object that enters a selection is ADDED, and one that leaves it is DELETED', limit, async () => {
    const { api, namespace } = subject;
    const { metadata } = await api.list(configMaps, { namespace });
    await api.create(configMaps, configMap(namespace, 'three'));
    await api.patch(reference('three'), { metadata: { labels: { chosen: 'yes' } } });
    await api.patch(reference('three'), { data: { a: '1' } });
    await api.patch(reference('three'), { metadata: { labels: { chosen: 'no' } } });
    const query = { resourceVersion: metadata.resourceVersion, labelSelector: 'chosen=yes' };
    assert.deepEqual(await firstEvents(3, query), ['ADDED three', 'MODIFIED three', 'DELETED three']);
  });

  test('a field selector watches one object', limit, async () => {
    const { api, namespace } = subject;
    const { metadata } = await api.list(configMaps, { namespace });
    await api.create(configMaps, configMap(namespace, 'four'));
    await api.create(configMaps, configMap(namespace, 'five'));
    const query = { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name=five' };
    assert.deepEqual(await firstEvents(1, query), ['ADDED five']);
  });

  test('the last state of a deleted object carries the version of the deletion', limit, async () => {
    const { api, namespace } = subject;
    const made = await api.create(configMaps, configMap(namespace, 'six'));
    await api.delete(reference('six'));
    const ending = new AbortController();
    const from = { namespace, resourceVersion: made.metadata.resourceVersion, signal: ending.signal };
    for await (const event of api.watch(configMaps, from)) {
      if (event.type !== 'DELETED') continue;
      assert.equal(event.object.metadata.uid, made.metadata.uid);
      assert(Number(event.object.metadata.resourceVersion) > Number(made.metadata.resourceVersion));
      ending.abort();
    }
  });

  // a test cannot make a real cluster drop its history: this test checks the response whenever it has done
  // so, and embedded-cluster/api-server/local-api.test.ts always checks it for the embedded one
  test('a watch from the first version has all events since, or is 410 Expired', limit, async () => {
    const { api, namespace } = subject;
    const made = await api.create(configMaps, configMap(namespace, 'seven'));
    await api.delete(reference('seven'));
    const ending = new AbortController();
    const from = { namespace, resourceVersion: '1', signal: ending.signal };
    const seen: string[] = [];
    for await (const event of api.watch(configMaps, from)) {
      if (event.type === 'ERROR') {
        assert.deepEqual([event.object.code, event.object.reason], [410, 'Expired']);
        seen.push(event.type);
      } else if (event.object.metadata.uid === made.metadata.uid) {
        seen.push(event.type);
        if (event.type === 'DELETED') ending.abort();
      }
    }
    assert.ok(['ERROR', 'ADDED,DELETED'].includes(seen.join()), seen.join());
  });

  test('an aborted signal ends the watch at once', limit, async () => {
    const query = { namespace: subject.namespace, signal: AbortSignal.abort() };
    for await (const event of subject.api.watch(configMaps, query)) assert.fail(`unexpected ${event.type}`);
  });
}
