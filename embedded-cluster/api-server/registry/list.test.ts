import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test, type TestContext } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { configMaps, networkAttachmentDefinitions } from '../../../src/kubernetes/resources.ts';
import type { Kind } from '../kinds/kind.ts';
import type { LocalApi } from '../local-api.ts';
import { openLocalApi } from '../open-local-api.ts';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { listObjects, type ListPageQuery } from './list.ts';
import { kindOf } from './registry.ts';

async function open(t: TestContext, historySize?: number): Promise<LocalApi> {
  const directory = temporaryDirectory(t);
  const api = await openLocalApi({ directory, ...(historySize === undefined ? {} : { historySize }) });
  t.after(() => api.close());
  return api;
}

const namesOf = (list: ReturnType<typeof listObjects>): string[] =>
  list.items.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);

function pages(api: LocalApi, kind: Kind, query: ListPageQuery, between: () => void): string[] {
  let list = listObjects(api.registry, kind, query);
  const names = namesOf(list);
  while (list.metadata.continue !== undefined) {
    between();
    list = listObjects(api.registry, kind, { ...query, continue: list.metadata.continue });
    names.push(...namesOf(list));
  }
  return names;
}

test('every kind is listed in chunks alike', async (t) => {
  const api = await open(t);
  for (const name of ['a', 'b', 'c']) {
    await api.create(networkAttachmentDefinitions, { metadata: { namespace: 'bosh', name } });
    await api.create(networkAttachmentDefinitions, { metadata: { namespace: 'default', name } });
    await api.create(configMaps, { metadata: { namespace: 'bosh', name } });
  }
  let longest = 0;
  for (const kind of api.registry.kinds.values()) {
    const whole = namesOf(listObjects(api.registry, kind, {}));
    for (const limit of [1, 2])
      assert.deepEqual(
        pages(api, kind, { limit }, () => undefined),
        whole,
      );
    longest = Math.max(longest, whole.length);
  }
  assert.equal(longest, 6);
});

test('whatever is written between the pages, they are the list as it was', async (t) => {
  const api = await open(t);
  const kind = kindOf(api.registry, configMaps);
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const write = fc.record({ verb: fc.constantFrom('create', 'delete', 'patch'), name });
  const run = fc.asyncProperty(fc.array(write), fc.integer({ min: 1, max: 4 }), async (writes, limit) => {
    const before = namesOf(listObjects(api.registry, kind, {}));
    const queue = [...writes];
    const doOne = (): void => {
      const next = queue.shift();
      if (next === undefined) return;
      const reference = { resource: configMaps, namespace: 'bosh', name: next.name };
      // It does not matter here whether the operation succeeds.
      const ignore = (): undefined => undefined;
      if (next.verb === 'create')
        void api.create(configMaps, { metadata: { namespace: 'bosh', name: next.name } }).catch(ignore);
      if (next.verb === 'delete') void api.delete(reference).catch(ignore);
      if (next.verb === 'patch')
        void api.patch(reference, { data: { n: String(queue.length) } }).catch(ignore);
    };
    assert.deepEqual(pages(api, kind, { limit }, doOne), before);
    while (queue.length > 0) doOne();
  });
  await fc.assert(run);
});

test('a token that is too old offers another one, which goes on in the present', async (t) => {
  const api = await open(t, 2);
  const kind = kindOf(api.registry, configMaps);
  for (const name of ['a', 'c', 'd']) await api.create(configMaps, { metadata: { namespace: 'bosh', name } });
  const first = listObjects(api.registry, kind, { limit: 1 });
  await api.create(configMaps, { metadata: { namespace: 'bosh', name: 'b' } });
  for (let n = 0; n < 10; n += 1)
    await api.patch({ resource: configMaps, namespace: 'bosh', name: 'a' }, { data: { n: String(n) } });
  let token: string | undefined;
  assert.throws(
    () => listObjects(api.registry, kind, { continue: first.metadata.continue }),
    (error) => {
      assert(isApiError(error, 410, 'Expired'));
      token = error.status.metadata.continue;
      return true;
    },
  );
  const rest = listObjects(api.registry, kind, { limit: 1, continue: token });
  const last = listObjects(api.registry, kind, { continue: rest.metadata.continue });
  assert.deepEqual([...namesOf(rest), ...namesOf(last)], ['bosh/b', 'bosh/c', 'bosh/d']);
  assert.equal(rest.metadata.resourceVersion, String(api.registry.store.revision));
});

test('a token of another list is refused', async (t) => {
  const api = await open(t);
  for (const name of ['a', 'b']) await api.create(configMaps, { metadata: { namespace: 'bosh', name } });
  const kind = kindOf(api.registry, configMaps);
  const { metadata } = listObjects(api.registry, kind, { namespace: 'bosh', limit: 1 });
  assert.notEqual(metadata.continue, undefined);
  const secrets = kindOf(api.registry, { group: '', plural: 'secrets' });
  for (const [other, namespace] of [
    [secrets, 'bosh'],
    [kind, undefined],
  ] as const) {
    assert.throws(
      () => listObjects(api.registry, other, { namespace, continue: metadata.continue }),
      (error) => isApiError(error, 400),
    );
  }
});
