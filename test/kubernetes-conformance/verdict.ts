import type { TestResult } from './report.ts';

export interface Verdict {
  readonly passed: readonly TestResult[];
  /** Failed, skipped by themselves, or never run though they were asked for. */
  readonly failed: readonly TestResult[];
  /** Passed, but nobody promised them. */
  readonly unpromised: readonly string[];
}

/** Each test that was asked for must have run and passed; whatever else failed counts too. */
export function judge(
  asked: readonly string[],
  results: readonly TestResult[],
  promised: readonly string[],
): Verdict {
  const ran = new Set(results.map(({ name }) => name));
  const missing = asked
    .filter((name) => !ran.has(name))
    .map((name) => ({ name, state: 'failed' as const, seconds: 0, reason: 'it did not run' }));
  const passed = results.filter(({ state }) => state === 'passed');
  return {
    passed,
    failed: [...results.filter(({ state }) => state !== 'passed'), ...missing],
    unpromised: passed.map(({ name }) => name).filter((name) => !promised.includes(name)),
  };
}

/** For people; the last line counts. */
export function describeVerdict({ passed, failed, unpromised }: Verdict): string {
  return [
    ...failed.map(({ name, state, reason }) => `${state}: ${name}\n    ${reason.replaceAll('\n', '\n    ')}`),
    ...unpromised.map((name) => `not promised: ${name}`),
    `${passed.length} passed, ${failed.length} failed, 0 skipped`,
  ].join('\n');
}
