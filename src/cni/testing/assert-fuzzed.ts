import assert from 'node:assert/strict';
import fc from 'fast-check';
import { supportedVersions } from '../plugin/config.ts';
import { answerCall } from '../plugin/plugin.ts';
import { runExecutable } from './executable.ts';
import { fuzzedCalls, oddBytes } from './fuzzed-calls.ts';

/** Checks that stdout is exactly one error object as the spec requires; returns its code. */
export function assertCniError(stdout: string): number {
  const { cniVersion, code, msg, details, ...more } = JSON.parse(stdout) as Record<string, unknown>;
  assert.ok(supportedVersions.some((version) => version === cniVersion));
  assert.ok(typeof code === 'number' && Number.isSafeInteger(code) && code > 0, stdout);
  assert.ok(typeof msg === 'string' && msg !== '', stdout);
  assert.ok(details === undefined || (typeof details === 'string' && details !== ''), stdout);
  assert.deepEqual(more, {});
  assert.match(stdout, /^[^\n]+\n$/u);
  return code;
}

/**
 * Makes that many calls that cannot succeed, in this process: each gives one CNI error, and each error code
 * occurs.
 */
export async function assertFuzzedCalls(count: number): Promise<void> {
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
    { numRuns: count },
  );
  // every error code occurred, the delegate's own failures among them; the rarest comes about ten times in
  // 5,000
  for (const code of [1, 4, 6, 7, 100, 101, 102, 103])
    assert.ok((seen.get(code) ?? 0) > count / 5000, `${code}: ${seen.get(code)}`);
}

/**
 * Makes that many calls that cannot succeed, each as a process of the executable: each gives one CNI error,
 * and nothing on stderr.
 */
export async function assertFuzzedProcesses(executable: string, count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fuzzedCalls, oddBytes, async ({ environment, input: stdin }, made) => {
      const input = made?.(stdin) ?? stdin;
      const { stdout, stderr, code } = await runExecutable(executable, { environment, input });
      assert.deepEqual([code, stderr], [1, '']);
      assertCniError(stdout);
    }),
    { numRuns: count },
  );
}
