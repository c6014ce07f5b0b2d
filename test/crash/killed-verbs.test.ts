import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestRows } from '../cpi/request-rows.ts';
import { combinedCases, deletionBesideDisks } from './support/combined-cases.ts';
import { describeKills } from './support/describe-kills.ts';
import { verbCases } from './support/verb-cases.ts';

describeKills('killed verbs', [...verbCases, deletionBesideDisks]);

test('every row of the table in docs/cpi/internals.md that writes is killed, here or in killed-combinations.long.test.ts', async () => {
  const killed = new Set([...verbCases, deletionBesideDisks, ...combinedCases].map(({ row }) => row));
  const writing = [...(await requestRows())].filter(([, { writes }]) => writes > 0).map(([row]) => row);
  assert.deepEqual(
    writing.filter((row) => !killed.has(row)),
    [],
  );
});
