import type { DelegateCall, DelegateOutcome, RunDelegate } from '../delegate/run-delegate.ts';

export interface RecordingDelegate {
  readonly run: RunDelegate;
  readonly calls: readonly DelegateCall[];
  /** Returns the configuration that the delegate read last. */
  readonly lastConfig: () => Record<string, unknown>;
}

/**
 * Creates a delegate that records its calls and returns the given answers in turn; the last answer is
 * repeated.
 */
export function recordingDelegate(...answers: readonly DelegateOutcome[]): RecordingDelegate {
  const calls: DelegateCall[] = [];
  return {
    calls,
    lastConfig: () => JSON.parse(calls.at(-1)?.input ?? '{}') as Record<string, unknown>,
    run: (call) => {
      const outcome = answers[Math.min(calls.length, answers.length - 1)];
      calls.push(call);
      return outcome === undefined ? Promise.reject(new Error('no answer')) : Promise.resolve(outcome);
    },
  };
}

/** Returns the output of a delegate that assigned these addresses. */
export function gave(...addresses: readonly string[]): DelegateOutcome {
  const ips = addresses.map((address) => ({ address: `${address}/${address.includes(':') ? 64 : 16}` }));
  return { exit: 0, stdout: `${JSON.stringify({ cniVersion: '1.0.0', ips, dns: {} })}\n` };
}
