import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePod } from './pod-words.ts';

const spec = { containers: [] };
const container = { image: 'i', imageID: '', ready: false, restartCount: 0 };

test('what keeps a pod from running is in its words', () => {
  const words = describePod({
    metadata: { name: 'vm-1', deletionTimestamp: '2026-01-01T00:00:00Z' },
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
    words,
    'phase Pending, being deleted since 2026-01-01T00:00:00Z, Unschedulable: 0/1 nodes are available, ' +
      'container prepare Error, exit code 3, ' +
      'container bosh ImagePullBackOff: no such image (ended before with exit code 137, 2 restarts), ' +
      'container other running',
  );
  assert.equal(describePod({ metadata: { name: 'new' }, spec }), 'phase unknown');
});
