import type { Environment } from '../plugin/environment.ts';

export interface DelegateCall {
  /** The name of a plugin, without a slash. */
  readonly type: string;
  /** Directories to search, in this order. */
  readonly path: readonly string[];
  readonly environment: Environment;
  /** The network configuration. */
  readonly input: string;
}

export interface DelegateOutcome {
  /** The exit code, or the name of the signal that ended the process. */
  readonly exit: number | string;
  readonly stdout: string;
}

/**
 * Runs a CNI plugin and waits for its end. It inherits our stderr. Rejects with CniError 5 or 7 if the plugin
 * cannot be run.
 */
export type RunDelegate = (call: DelegateCall) => Promise<DelegateOutcome>;
