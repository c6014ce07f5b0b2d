import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestRows } from '../cpi/request-rows.ts';
import { combinedCases, deletionBesideDisks } from './support/combined-cases.ts';
import { describeFaults } from './support/describe-faults.ts';
import { isOfRecreate, verbCases } from './support/verb-cases.ts';

describeFaults(
  'faults of the API',
  verbCases.filter((each) => !isOfRecreate(each)),
);

test('every row of the table in docs/cpi/internals.md with a request meets faults, here or in faults-recreate.test.ts, or is a combination of rows', async () => {
  const known = new Set([...verbCases, deletionBesideDisks, ...combinedCases].map(({ row }) => row));
  const rows = [...(await requestRows())].filter(([, { reads, writes }]) => reads + writes > 0);
  assert.deepEqual(
    rows.map(([row]) => row).filter((row) => !known.has(row)),
    [],
  );
});
