import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { supportedVersions } from './plugin/cni-version.ts';
import { answerCall } from './plugin/plugin.ts';
import { buildExecutable, executableIsMissing, runExecutable } from './testing/executable.ts';
import type { BuiltExecutable } from './testing/executable.ts';
import { fuzzedCalls } from './testing/fuzzed-calls.ts';

/** One error object, with what the spec says is in it, and nothing else on stdout; its code. */
function assertCniError(stdout: string): number {
  const { cniVersion, code, msg, details, ...more } = JSON.parse(stdout) as Record<string, unknown>;
  assert.ok(supportedVersions.some((version) => version === cniVersion));
  assert.ok(typeof code === 'number' && Number.isSafeInteger(code) && code > 0, stdout);
  assert.ok(typeof msg === 'string' && msg !== '', stdout);
  assert.ok(details === undefined || (typeof details === 'string' && details !== ''), stdout);
  assert.deepEqual(more, {});
  assert.match(stdout, /^[^\n]+\n$/u);
  return code;
}

test('100,000 calls that cannot succeed are one CNI error each', async () => {
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fuzzedCalls, async ({ environment, input, outcome }) => {
      const { stdout, exitCode } = await answerCall({
        environment,
        readInput: () => Promise.resolve(input),
        run: () => Promise.resolve(outcome),
      });
      assert.equal(exitCode, 1);
      const code = assertCniError(stdout);
      seen.set(code, (seen.get(code) ?? 0) + 1);
    }),
    { numRuns: 100_000 },
  );
  // every way out was taken, the delegate's own failures among them
  for (const code of [1, 4, 6, 7, 100, 101, 102, 103])
    assert.ok((seen.get(code) ?? 0) > 100, `${code}: ${seen.get(code)}`);
});

describe('as processes', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  before(async () => {
    built = await buildExecutable();
  });
  after(() => built.remove());

  test('300 calls that cannot succeed are one CNI error each', async () => {
    await fc.assert(
      fc.asyncProperty(fuzzedCalls, async ({ environment, input }) => {
        const { stdout, stderr, code } = await runExecutable(built.path, { environment, input });
        assert.deepEqual([code, stderr], [1, '']);
        assertCniError(stdout);
      }),
      { numRuns: 300 },
    );
  });
});
