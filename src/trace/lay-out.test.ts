import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { axisMarks, type Bar, layOut } from './lay-out.ts';
import { recordLine } from './testing/record-line.ts';
import { parseTraceCall, type TraceCall } from './trace-call.ts';

const width = 968;
const character = 7.4;
const options = { width, labelOf: ({ method }: TraceCall) => method };

function callsAt(times: readonly (readonly [at: number, ms: number])[], method = 'has_vm'): TraceCall[] {
  return times
    .toSorted(([one], [other]) => one - other)
    .map(([at, ms]) => {
      const call = parseTraceCall(recordLine(at, ms, { method }));
      assert.ok(call !== undefined);
      return call;
    });
}

const extentOf = ({ x, width: length, label }: Bar): readonly [number, number] => {
  const labelLength = label.text.length * character;
  const left = label.anchor === 'start' ? label.x : label.x - labelLength;
  return [Math.min(x, left), Math.max(x + length, left + labelLength)];
};

test('no bar or label is on another one of its lane, and no bar is outside of the axis', () => {
  const time = fc.tuple(fc.nat({ max: 600_000 }), fc.oneof(fc.constant(0), fc.nat({ max: 90_000 })));
  fc.assert(
    fc.property(fc.array(time, { minLength: 1, maxLength: 120 }), (times) => {
      const calls = callsAt(times, 'set_vm_metadata');
      const sections = layOut(calls, options);
      assert.deepEqual(
        sections.flatMap(({ bars }) => bars.map(({ call }) => call)),
        calls,
      );
      for (const { bars, lanes } of sections)
        for (const [index, bar] of bars.entries()) {
          assert.ok(bar.x >= 0 && bar.width > 0 && bar.x + bar.width <= width + 1e-6);
          assert.ok(bar.lane < lanes);
          for (const other of bars.slice(index + 1)) {
            if (other.lane !== bar.lane) continue;
            const [[left, right], [otherLeft, otherRight]] = [extentOf(bar), extentOf(other)];
            assert.ok(right <= otherLeft || otherRight <= left);
          }
        }
    }),
    { numRuns: 50 },
  );
});

test('a long pause begins a new axis, and so does every forty-first call', () => {
  const sizes = (times: readonly (readonly [number, number])[]): number[] =>
    layOut(callsAt(times), options).map(({ bars }) => bars.length);
  assert.deepEqual(sizes([[0, 10]]), [1]);
  assert.deepEqual(
    sizes([
      [0, 10],
      [60_010, 10],
      [120_021, 10],
    ]),
    [2, 1],
  );
  assert.deepEqual(
    sizes([
      [0, 200_000],
      [100_000, 10],
      [250_000, 10],
    ]),
    [3],
  );
  assert.deepEqual(sizes(Array.from({ length: 500 }, (_, index) => [index * 1000, 2000])), [
    ...Array.from({ length: 12 }, () => 40),
    20,
  ]);
});

test('the marks of an axis are few and at round times', () => {
  assert.deepEqual(axisMarks(1), [0, 1]);
  assert.deepEqual(axisMarks(40_300), [0, 10_000, 20_000, 30_000, 40_000]);
  for (const ms of [7, 999, 61_000, 3_600_000, 604_800_000]) assert.ok(axisMarks(ms).length <= 9, String(ms));
});
