import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { retryDelay } from './retry.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

test('what is tried again, and for whom', () => {
  const repeats = (setback: Parameters<typeof retryDelay>[0]['setback']): string[] =>
    methods.filter((method) => retryDelay({ method, tries: 1, setback }, 0) !== undefined);

  assert.deepEqual(repeats({ status: 429, retryAfter: undefined }), [...methods]);
  assert.deepEqual(repeats({ status: 503, retryAfter: '1' }), [...methods]);
  // a response of a proxy, or of etcd through the server: the request may have been done or not
  for (const status of [408, 500, 502, 503, 504, 520, 524])
    assert.deepEqual(repeats({ status, retryAfter: undefined }), ['GET'], String(status));
  assert.deepEqual(repeats({ status: 502, retryAfter: '1' }), ['GET']);
  assert.deepEqual(repeats({ status: 503, retryAfter: '3600' }), []);
  for (const status of [501, 505, 507])
    assert.deepEqual(repeats({ status, retryAfter: undefined }), [], String(status));
  assert.deepEqual(repeats({ status: 429, retryAfter: '3600' }), []);
  assert.deepEqual(repeats({ status: 409, retryAfter: '1' }), []);
  assert.deepEqual(repeats({ status: 404, retryAfter: undefined }), []);
  assert.deepEqual(repeats({ failure: 'refused' }), []);
  assert.deepEqual(repeats({ failure: 'reset' }), ['GET', 'PUT', 'DELETE']);
  assert.deepEqual(repeats({ failure: 'tls' }), []);
  assert.deepEqual(repeats({ failure: 'timeout' }), []);
});

test('tries are bounded and never come before the Retry-After', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...methods),
      fc.integer({ min: 1, max: 20 }),
      fc.nat({ max: 60 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (method, tries, seconds, random) => {
        const delay = retryDelay(
          { method, tries, setback: { status: 429, retryAfter: String(seconds) } },
          random,
        );
        assert.ok(delay === undefined || delay >= seconds * 1000);
        assert.equal(delay === undefined, tries >= 6 || seconds > 30);
      },
    ),
  );
});
