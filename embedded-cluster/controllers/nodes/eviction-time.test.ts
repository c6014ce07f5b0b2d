import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint } from '../../../src/kubernetes/types/node.ts';
import type { Toleration } from '../../../src/kubernetes/types/pod.ts';
import { evictionTime } from './eviction-time.ts';

const now = Date.UTC(2026, 0, 1, 0, 1);
const lost: Taint = { key: 'lost', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' };
const slow: Taint = { key: 'slow', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' };
const tolerating = (key: string, tolerationSeconds?: number): Toleration => ({
  ...{ key, operator: 'Exists', effect: 'NoExecute' },
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});
const after = (seconds: number): number => Date.UTC(2026, 0, 1) + seconds * 1000;

const cases: readonly [string, Toleration[], Taint[], number | undefined][] = [
  ['no taint', [], [], undefined],
  ['a taint that only keeps new ones away', [], [slow], undefined],
  ['not tolerated', [], [lost], now],
  ['tolerated for ever', [tolerating('lost')], [lost], undefined],
  ['tolerated for a while, from when it was added', [tolerating('lost', 300)], [lost], after(300)],
  [
    'for ever and for a while: the while holds',
    [tolerating('lost'), tolerating('lost', 300)],
    [lost],
    after(300),
  ],
  ['the shorter of two', [tolerating('lost', 300), tolerating('lost', 30)], [lost], after(30)],
  ['less than nothing is nothing', [tolerating('lost', -5)], [lost], after(0)],
  ['one of two not tolerated', [tolerating('lost')], [lost, { key: 'worse', effect: 'NoExecute' }], now],
];

for (const [name, tolerations, taints, expected] of cases) {
  test(`eviction time: ${name}`, () => {
    assert.equal(evictionTime(tolerations, taints, now), expected);
  });
}
