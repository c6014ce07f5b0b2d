import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceDateEpoch } from './source-date-epoch.ts';

test('SOURCE_DATE_EPOCH is seconds since 1970, or 1 January 2026', () => {
  assert.equal(sourceDateEpoch(undefined) * 1000, Date.UTC(2026, 0, 1));
  assert.equal(sourceDateEpoch(''), sourceDateEpoch(undefined));
  assert.equal(sourceDateEpoch('0'), 0);
  assert.equal(sourceDateEpoch('1700000000'), 1_700_000_000);
  for (const text of ['yesterday', '-1', '1.5', '1e9', ' 1', '2026-01-01', '9'.repeat(12)])
    assert.throws(() => sourceDateEpoch(text), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`SOURCE_DATE_EPOCH is '${text}'`),
    });
});
