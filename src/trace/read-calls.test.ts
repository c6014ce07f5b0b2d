import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type LoggedCalls, maxCalls, readCalls } from './read-calls.ts';
import { recordLine, startOfDay } from './testing/record-line.ts';

const read = (...chunks: readonly string[]): Promise<LoggedCalls> =>
  readCalls(
    (async function* () {
      for (const chunk of chunks) yield await Promise.resolve(chunk);
    })(),
  );

test('the records of a log are found among other lines, also within a line of the debug log', async () => {
  const log = await read(
    [
      'Task 12',
      'D, [2026-01-01] DEBUG -- : [external-cpi] request: {"method":"has_vm","arguments":["vm-1"]}',
      `D, DEBUG -- : response: {"result":true,"error":null,"log":""}, err: ${recordLine(2000, 10)}`,
      ', exit_status: 0',
      'waiting for pod vm-1: Pulling image',
      `${recordLine(1000, 40_000, { method: 'create_vm', request_id: 'cpi-1' })}\r`,
      '{"result":["vm-1",{}],"error":null,"log":""}',
      '{"bosh_kubernetes_cpi":1,"method":"cut',
      recordLine(0, 1, { bosh_kubernetes_cpi: 2 }),
    ].join('\n'),
  );
  assert.deepEqual(
    log.calls.map(({ method, start, ms, requestId }) => [method, start - startOfDay, ms, requestId]),
    [
      ['create_vm', 1000, 40_000, 'cpi-1'],
      ['has_vm', 2000, 10, undefined],
    ],
  );
  assert.deepEqual([log.unreadable, log.leftOut], [2, 0]);
});

test('records are found however the log is cut into chunks', async () => {
  const noise = fc.oneof(
    fc.string({ maxLength: 50 }),
    fc.constant('{"result":null,"error":null,"log":""}'),
    fc.constant('x'.repeat(20_000)),
  );
  const line = fc.tuple(fc.boolean(), noise);
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.integer({ min: 1, max: 5000 }),
      async (lines, size) => {
        const text = lines
          .map(([isRecord, other], index) => `${other}${isRecord ? recordLine(index, 5) : ''}\n`)
          .join('');
        const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];
        const log = await read(...chunks);
        const expected = lines.flatMap(([isRecord], index) => (isRecord ? [index] : []));
        assert.deepEqual(
          log.calls.map(({ start }) => start - startOfDay),
          expected,
        );
        assert.equal(log.unreadable, 0);
      },
    ),
    { numRuns: 40 },
  );
});

test('of a log with too many calls the last ones are kept', async () => {
  const count = 2 * maxCalls + 10;
  const { calls, leftOut } = await read(
    ...Array.from({ length: count }, (_, index) => `${recordLine(index, 1)}\n`),
  );
  assert.deepEqual([calls.length, leftOut], [maxCalls, count - maxCalls]);
  assert.equal(calls.at(-1)?.start, startOfDay + count - 1);
});
