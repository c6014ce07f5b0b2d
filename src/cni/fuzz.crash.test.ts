import { after, before, describe, test } from 'node:test';
import { assertFuzzedCalls, assertFuzzedProcesses } from './testing/assert-fuzzed.ts';
import { buildExecutable, executableIsMissing } from './testing/executable.ts';
import type { BuiltExecutable } from './testing/executable.ts';

test('20,000 calls that cannot succeed are one CNI error each', () => assertFuzzedCalls(20_000));

describe('as processes', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  before(async () => {
    built = await buildExecutable();
  });
  after(() => built.remove());

  test('100 calls that cannot succeed are one CNI error each', () => assertFuzzedProcesses(built.path, 100));
});
