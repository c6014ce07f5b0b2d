import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import type { KubernetesApi, WatchEvent, WatchQuery } from './api.ts';
import type { KubernetesObject } from './object.ts';
import { pods } from './resources.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { waitFor } from './wait.ts';

const reference = { resource: pods, namespace: 'bosh', name: 'vm-1' };
const unused = (): never => {
  throw new Error('not part of a wait');
};

function silentApi(items: KubernetesObject[], events: WatchEvent<KubernetesObject>[] = []): KubernetesApi {
  return {
    get: unused,
    create: unused,
    replace: unused,
    patch: unused,
    delete: unused,
    groups: unused,
    list: <T extends KubernetesObject>() =>
      Promise.resolve({
        apiVersion: 'v1',
        kind: 'PodList',
        metadata: { resourceVersion: '1' },
        items: items as T[],
      }),
    watch: async function* <T extends KubernetesObject>(_resource: unknown, query: WatchQuery = {}) {
      yield* events as WatchEvent<T>[];
      await new Promise((resolve) => query.signal?.addEventListener('abort', resolve));
    },
  };
}

test('the deadline says what, how long and the last words', async () => {
  const clock = new ManualClock();
  const waiting = waitFor<KubernetesObject, true>({
    api: silentApi([{ metadata: { name: 'vm-1' } }]),
    reference,
    awaited: 'pod bosh/vm-1 to become ready',
    deadlineMs: 120_000,
    condition: () => undefined,
    lastWords: (last) => `${last?.metadata.name ?? ''} is ImagePullBackOff`,
    clock,
  });
  clock.advance(120_000);

  await assert.rejects(waiting, (error) => {
    assert.ok(isProductError(error, 'DEADLINE'));
    assert.equal(
      error.message,
      'waited 120 s for pod bosh/vm-1 to become ready; last known: vm-1 is ImagePullBackOff',
    );
    return true;
  });
  assert.deepEqual(clock.pending, []);
});

test('a deletion is seen as no object', async () => {
  const pod = { metadata: { name: 'vm-1' } };

  const gone = await waitFor({
    api: silentApi([pod], [{ type: 'DELETED', object: pod }]),
    reference,
    awaited: 'pod to go',
    deadlineMs: 1000,
    condition: (object) => (object === undefined ? true : undefined),
    clock: new ManualClock(),
  });

  assert.equal(gone, true);
});

test('an error of the condition ends the wait', async () => {
  const clock = new ManualClock();

  await assert.rejects(
    waitFor({
      api: silentApi([]),
      reference,
      awaited: 'anything',
      deadlineMs: 1000,
      condition: () => {
        throw new Error('the pod failed');
      },
      clock,
    }),
    { message: 'the pod failed' },
  );
  assert.deepEqual(clock.pending, []);
});
