import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventRecord } from '../describe-pod.ts';
import { events } from '../resources.ts';
import { startCluster } from '../../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { EventRecorder, type EventDetails, type InvolvedObject } from './event-recorder.ts';

const subject = (namespace: string, uid = 'u'): InvolvedObject => ({
  kind: 'Secret',
  apiVersion: 'v1',
  object: { metadata: { name: 's', namespace, uid } },
});
const news: EventDetails = { type: 'Warning', reason: 'Trouble', message: 'it is so' };

test('the same news again is counted, other news is another event', async (t) => {
  const cluster = await startCluster(t);
  const { api, clock } = cluster;
  const errors: unknown[] = [];
  const onError = (error: unknown): unknown => errors.push(error);
  const recorder = new EventRecorder({ api, clock, component: 'one', onError });
  recorder.record(subject('bosh'), news);
  await recorder.flush();
  const first = (await api.list<EventRecord>(events)).items[0];
  clock.advance(5000);

  recorder.record(subject('bosh'), news);
  recorder.record(subject('bosh'), { ...news, message: 'it is otherwise' });
  recorder.record(subject('bosh', 'another'), news);
  await recorder.flush();

  const { items } = await api.list<EventRecord>(events);
  assert.deepEqual(
    items
      .map(({ message, count }) => `${message ?? ''} x${count ?? 0}`)
      .toSorted((one, other) => one.localeCompare(other)),
    ['it is otherwise x1', 'it is so x1', 'it is so x2'],
  );
  const again = await cluster.find<EventRecord>({
    resource: events,
    namespace: 'bosh',
    name: first?.metadata.name ?? '',
  });
  assert.equal(again?.firstTimestamp, first?.firstTimestamp);
  assert.equal(Date.parse(again?.lastTimestamp ?? '') - Date.parse(again?.firstTimestamp ?? ''), 5000);
  assert.deepEqual(errors, []);
});

test('an event that expired is written anew, and one for a namespace that is gone is dropped', async (t) => {
  const { api, clock } = await startCluster(t);
  const errors: unknown[] = [];
  const recorder = new EventRecorder({
    api,
    clock,
    component: 'one',
    onError: (error) => errors.push(error),
  });
  recorder.record(subject('bosh'), news);
  await recorder.flush();
  const name = (await api.list<EventRecord>(events)).items[0]?.metadata.name ?? '';
  await api.delete({ resource: events, namespace: 'bosh', name });

  recorder.record(subject('bosh'), news);
  recorder.record(subject('nowhere', 'elsewhere'), news);
  await recorder.flush();

  const { items } = await api.list<EventRecord>(events);
  assert.deepEqual(
    items.map(({ count }) => count),
    [1],
  );
  assert.deepEqual(errors, []);
});
