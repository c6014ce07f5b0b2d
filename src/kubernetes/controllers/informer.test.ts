import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { KubernetesApi, WatchEvent } from '../api.ts';
import type { KubernetesObject, Stored } from '../object.ts';
import { pods } from '../resources.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { Informer } from './informer.ts';

const pod = (name: string, uid: string, resourceVersion: string): Stored<KubernetesObject> => ({
  metadata: { name, namespace: 'bosh', uid, resourceVersion },
});
const unused = (): never => assert.fail('an informer does not write');

/** Returns an API that plays one list and one watch per round. */
function scripted(
  rounds: { items: KubernetesObject[]; events: WatchEvent<KubernetesObject>[] | Error }[],
): KubernetesApi {
  let round = -1;
  return {
    get: unused,
    create: unused,
    dryRunCreate: unused,
    replace: unused,
    patch: unused,
    delete: unused,
    groups: unused,
    list: () => {
      round += 1;
      const items = (rounds[round]?.items ?? []) as never[];
      return Promise.resolve({
        apiVersion: 'v1',
        kind: 'PodList',
        metadata: { resourceVersion: '1' },
        items,
      });
    },
    watch: async function* <T extends KubernetesObject>() {
      await turn();
      const events = rounds[round]?.events ?? [];
      if (events instanceof Error) {
        throw events;
      }
      yield* events as WatchEvent<T>[];
    },
  };
}

test('changes are told once, also those that a broken or expired watch missed', async () => {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const messages: string[] = [];
  const expired = {
    type: 'ERROR',
    object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 410 },
  } as const;
  const api = scripted([
    {
      items: [pod('a', '1', '1'), pod('b', '2', '1')],
      events: [{ type: 'MODIFIED', object: pod('a', '1', '2') }, expired],
    },
    { items: [pod('a', '1', '2'), pod('b', '3', '4')], events: new Error('the connection broke') },
    { items: [pod('a', '1', '2')], events: [] },
  ]);
  const informer = new Informer(api, pods, {
    clock,
    onError: (error) => errors.push(error),
  });
  informer.onChange(({ key, before, after }) => {
    messages.push(`${key} ${before?.metadata.uid ?? '-'}>${after?.metadata.uid ?? '-'}`);
  });
  const running = informer.run();
  for (let rounds = 0; rounds < 3; rounds += 1) {
    while (clock.pending.length === 0) {
      await turn();
    }
    clock.advance(1000);
  }
  informer.stop();
  await running;

  assert.deepEqual(messages.slice(0, 3), ['bosh/a ->1', 'bosh/b ->2', 'bosh/a 1>1']);
  assert.deepEqual(messages.slice(3, 5), ['bosh/b 2>-', 'bosh/b ->3']);
  assert.deepEqual(messages.slice(5, 6), ['bosh/b 3>-']);
  assert.equal(errors.length, 1);
});
