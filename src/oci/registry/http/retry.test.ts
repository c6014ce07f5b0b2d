import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maximumTries, retryDelay } from './retry.ts';

const attempt = { tries: 1, now: 0, random: 0 };
const answered = (status: number, retryAfter?: string): number | undefined =>
  retryDelay({ ...attempt, reason: { status, retryAfter } });

test('retries transient failures only', () => {
  for (const status of [408, 429, 500, 502, 503, 504]) assert.equal(answered(status), 200, String(status));
  for (const status of [200, 400, 401, 403, 404, 405, 413, 416, 501])
    assert.equal(answered(status), undefined, String(status));
  assert.equal(retryDelay({ ...attempt, reason: { broke: true } }), 200);
});

test('backs off exponentially with jitter up to the limit', () => {
  const reason = { broke: true } as const;
  const delays = Array.from({ length: maximumTries }, (_, index) =>
    retryDelay({ reason, tries: index + 1, now: 0, random: 0 }),
  );
  assert.deepEqual(delays, [200, 400, 800, 1600, 3200, undefined]);
  assert.equal(retryDelay({ reason, tries: 2, now: 0, random: 1 }), 600);
});

test('respects a Retry-After of up to a minute', () => {
  assert.equal(answered(429, '0'), 200);
  assert.equal(answered(429, '60'), 60_000);
  assert.equal(answered(429, '61'), undefined);
  assert.equal(answered(503, new Date(30_000).toUTCString()), 30_000);
  assert.equal(
    retryDelay({
      ...attempt,
      now: 40_000,
      reason: { status: 503, retryAfter: new Date(30_000).toUTCString() },
    }),
    200,
  );
  assert.equal(answered(429, 'soon'), 200);
});
