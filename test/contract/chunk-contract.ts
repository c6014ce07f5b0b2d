import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configMaps } from '../../src/kubernetes/resources.ts';
import { configMap } from './contract-objects.ts';
import type { WireSubject } from './subject.ts';
import { exchange } from './wire.ts';

interface Page {
  readonly status: number;
  readonly names: readonly string[];
  readonly token: string | undefined;
  readonly remaining: number | undefined;
  readonly resourceVersion: string;
}

/**
 * `limit` and `continue` (kubernetes.io: Kubernetes API Concepts, retrieving large results sets in chunks).
 */
export function chunkContract(makeSubject: () => Promise<WireSubject>): void {
  let subject: WireSubject;
  const label = { chunks: 'yes' };
  before(async () => {
    subject = await makeSubject();
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await subject.api.create(configMaps, configMap(subject.namespace, name, { labels: label }));
    }
  });
  after(() => subject.end());

  const pageOf = async (query: Record<string, string>): Promise<Page> => {
    const { status, json } = await exchange(subject, configMaps, { query });
    const list = json as {
      metadata: { continue?: string; remainingItemCount?: number; resourceVersion: string };
      items?: { metadata: { name: string } }[];
    };
    return {
      status,
      names: (list.items ?? []).map(({ metadata }) => metadata.name),
      token: list.metadata.continue,
      remaining: list.metadata.remainingItemCount,
      resourceVersion: list.metadata.resourceVersion,
    };
  };
  const allPages = async (limit: number): Promise<Page[]> => {
    const pages = [await pageOf({ limit: String(limit) })];
    for (let token = pages[0]?.token; token !== undefined; token = pages.at(-1)?.token) {
      pages.push(await pageOf({ limit: String(limit), continue: token }));
    }
    return pages;
  };

  test('pages of every size add up to the list, in its order and of one version', async () => {
    const whole = await pageOf({});
    for (const limit of [1, 2, 3, whole.names.length, 100]) {
      const pages = await allPages(limit);
      assert.deepEqual(
        pages.flatMap(({ names }) => names),
        whole.names,
      );
      assert(pages.every(({ names }) => names.length <= limit));
      assert.equal(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size, 1);
    }
  });

  test('the rest is counted, except where a selector was given', async () => {
    const first = await pageOf({ limit: '2' });
    const whole = await pageOf({});
    assert.equal(first.remaining, whole.names.length - 2);
    const selected = await pageOf({ limit: '2', labelSelector: 'chunks=yes' });
    assert.equal(selected.remaining, undefined);
    assert.notEqual(selected.token, undefined);
    assert.equal(whole.remaining, undefined);
  });

  test('what is written between two pages does not show in the later one', async () => {
    const { api, namespace } = subject;
    const first = await pageOf({ limit: '2', labelSelector: 'chunks=yes' });
    assert.deepEqual(first.names, ['a', 'b']);
    await api.delete({ resource: configMaps, namespace, name: 'd' });
    await api.create(configMaps, configMap(namespace, 'ba', { labels: label }));
    const rest = await pageOf({ continue: first.token ?? '', labelSelector: 'chunks=yes' });
    assert.deepEqual(rest.names, ['c', 'd', 'e']);
    assert.equal(rest.token, undefined);
    assert.deepEqual((await pageOf({ labelSelector: 'chunks=yes' })).names, ['a', 'b', 'ba', 'c', 'e']);
  });

  test('a token that is none is 400, and with one no version may be asked for', async () => {
    assert.equal((await pageOf({ continue: 'nonsense' })).status, 400);
    const { token = '', resourceVersion } = await pageOf({ limit: '1' });
    assert.equal((await pageOf({ continue: token, resourceVersion })).status, 400);
    const match = { continue: token, resourceVersionMatch: 'NotOlderThan' };
    assert.equal((await pageOf(match)).status, 422);
  });

  test('resourceVersionMatch needs a version that it can match', async () => {
    const { resourceVersion } = await pageOf({});
    assert.equal((await pageOf({ resourceVersionMatch: 'Exact' })).status, 422);
    assert.equal((await pageOf({ resourceVersionMatch: 'Exact', resourceVersion: '0' })).status, 422);
    assert.equal((await pageOf({ resourceVersionMatch: 'Nearly', resourceVersion })).status, 422);
    assert.equal((await pageOf({ resourceVersionMatch: 'Exact', resourceVersion })).status, 200);
  });
}
