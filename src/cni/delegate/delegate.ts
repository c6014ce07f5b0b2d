import type { Environment } from '../plugin/environment.ts';

export interface DelegateCall {
  /** A plugin's name, without any slash. */
  readonly type: string;
  /** Directories that are searched, in this order. */
  readonly path: readonly string[];
  readonly environment: Environment;
  /** The network configuration. */
  readonly input: string;
}

export interface DelegateOutcome {
  /** Exit code; a signal's name where one ended it. */
  readonly exit: number | string;
  readonly stdout: string;
}

/** Runs a CNI plugin and waits for its end. Its stderr is ours. Rejects with CniError 5 or 7 where it cannot be run. */
export type RunDelegate = (call: DelegateCall) => Promise<DelegateOutcome>;
