import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi } from './api.ts';
import { type EventRecord, describePod, describePodAndEvents } from './describe-pod.ts';

const spec = { containers: [] };
const container = { image: 'i', imageID: '', ready: false, restartCount: 0 };

test('what keeps a pod from running is in its words', () => {
  const description = describePod({
    metadata: { name: 'vm-1', namespace: 'bosh', deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec,
    status: {
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/1 nodes are available',
        },
        { type: 'Ready', status: 'False', message: 'not told' },
      ],
      initContainerStatuses: [
        { ...container, name: 'prepare', state: { terminated: { exitCode: 3, reason: 'Error' } } },
      ],
      containerStatuses: [
        {
          ...container,
          name: 'bosh',
          restartCount: 2,
          state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } },
          lastState: { terminated: { exitCode: 137 } },
        },
        { ...container, name: 'other', state: { running: { startedAt: '' } } },
      ],
    },
  });

  assert.equal(
    description,
    'phase Pending, being deleted since 2026-01-01T00:00:00Z, Unschedulable: 0/1 nodes are available, ' +
      'container prepare Error, exit code 3, ' +
      'container bosh ImagePullBackOff: no such image (ended before with exit code 137, 2 restarts), ' +
      'container other running',
  );
  assert.equal(describePod({ metadata: { name: 'new', namespace: 'bosh' }, spec }), 'phase unknown');
});

test('what the pod says already is not repeated by its events, and what several events say is said once', async () => {
  const message = '0/1 nodes are available: 1 Insufficient memory.';
  const event = (minute: number, reason: string, text: string, count?: number): EventRecord => ({
    ...{
      metadata: { name: `e${minute}`, namespace: 'bosh' },
      reason,
      message: text,
      lastTimestamp: `2026-01-01T00:0${minute}:00Z`,
    },
    ...(count === undefined ? {} : { count }),
  });
  const items = [
    event(1, 'Failed', 'no image'),
    event(2, 'FailedScheduling', message),
    event(3, 'NotTriggerScaleUp', 'no group fits'),
    event(4, 'FailedScheduling', message, 3),
    event(5, 'NotTriggerScaleUp', 'no group fits', 2),
  ];
  const api = { list: async () => ({ items }) } as unknown as KubernetesApi;
  const description = (conditions: object[]): Promise<string> =>
    describePodAndEvents(
      api,
      { namespace: 'bosh', name: 'vm-1' },
      {
        ...{ metadata: { name: 'vm-1', namespace: 'bosh' }, spec },
        status: { phase: 'Pending', conditions: conditions as never },
      },
    );

  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
  const others = 'Failed: no image; NotTriggerScaleUp (x3): no group fits';
  assert.equal(await description([condition]), `phase Pending, Unschedulable: ${message}; events: ${others}`);
  assert.equal(
    await description([]),
    `phase Pending; events: Failed: no image; FailedScheduling (x4): ${message}; NotTriggerScaleUp (x3): no group fits`,
  );
});
