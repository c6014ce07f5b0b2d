import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint } from '../../../src/kubernetes/types/node.ts';
import type { Toleration } from '../../../src/kubernetes/types/pod.ts';
import { evictionTime } from './taint-eviction.ts';

const now = Date.UTC(2026, 0, 1, 0, 1);
const lost: Taint = { key: 'lost', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' };
const slow: Taint = { key: 'slow', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' };
const tolerating = (key: string, tolerationSeconds?: number): Toleration => ({
  ...{ key, operator: 'Exists', effect: 'NoExecute' },
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});
const after = (seconds: number): number => Date.UTC(2026, 0, 1) + seconds * 1000;

const cases: readonly [string, Toleration[], Taint[], number | undefined][] = [
  ['there is none without a taint', [], [], undefined],
  ['there is none for a NoSchedule taint', [], [slow], undefined],
  ['it is now for a taint that is not tolerated', [], [lost], now],
  ['there is none with a toleration without a limit', [tolerating('lost')], [lost], undefined],
  ['it is tolerationSeconds after the taint was added', [tolerating('lost', 300)], [lost], after(300)],
  [
    'it follows tolerationSeconds if another toleration has no limit',
    [tolerating('lost'), tolerating('lost', 300)],
    [lost],
    after(300),
  ],
  [
    'it follows the shorter of two tolerations',
    [tolerating('lost', 300), tolerating('lost', 30)],
    [lost],
    after(30),
  ],
  ['negative tolerationSeconds count as zero', [tolerating('lost', -5)], [lost], after(0)],
  [
    'it is now if one of two taints is not tolerated',
    [tolerating('lost')],
    [lost, { key: 'worse', effect: 'NoExecute' }],
    now,
  ],
];

for (const [name, tolerations, taints, expected] of cases) {
  test(`eviction time: ${name}`, () => {
    assert.equal(evictionTime(tolerations, taints, now), expected);
  });
}
