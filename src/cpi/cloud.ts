import type { ShellCommand } from '../kubernetes/pod-script.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { Clock } from '../kubernetes/clock.ts';
import type { CpiConfig } from './config.ts';

export interface ExecCommand {
  /** That of the VMs where it is absent. */
  readonly namespace?: string;
  readonly pod: string;
  readonly container: string;
  /** Shown in audit logs: no secrets. */
  readonly command: ShellCommand;
  readonly deadlineMs: number;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a verb works with. Everything outside the process comes through here. */
export interface CallContext {
  readonly api: KubernetesApi;
  /** Runs a command in a container of the namespace; exit code 0 is its own. Rejects as `runScript` does. */
  readonly exec: (command: ExecCommand) => Promise<ExecResult>;
  readonly config: CpiConfig;
  readonly namespace: string;
  readonly clock: Clock;
  readonly newUuid: () => string;
  /** `context.director_uuid` of the call, for the label. */
  readonly directorUuid: string | undefined;
  /** Adds a line to the response's `log`: what the caller's operator should know though nothing failed. */
  readonly log: (line: string) => void;
  /**
   * Tells the operator at once, while the call goes on: on stderr, which is the director's log of the CPI.
   * create-env prints lines that begin with `waiting for ` or `note: ` (src/deploy/cpi/cpi-runner.ts).
   */
  readonly reportProgress: (line: string) => void;
}

/** Where claims and attachments live. */
export const diskNamespaceOf = ({ config, namespace }: CallContext): string =>
  config.kubernetes.diskNamespace ?? namespace;

/**
 * One CPI method: positional arguments in, the response's `result` out. Every verb may be run again after any
 * end.
 */
export type Verb = (cloud: CallContext, args: readonly unknown[]) => Promise<unknown>;
