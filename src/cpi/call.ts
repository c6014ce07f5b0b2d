import type { ShellCommand } from '../kubernetes/client/exec.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { Clock } from '../platform/clock.ts';
import type { CpiConfig } from './config/config.ts';

export interface ExecCommand {
  /** Default: the namespace of the VMs. */
  readonly namespace?: string;
  readonly pod: string;
  readonly container: string;
  /** Audit logs contain the command, so it must not contain secrets. */
  readonly command: ShellCommand;
  readonly deadlineMs: number;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The context of one CPI call. A verb reaches everything outside the process through it. */
export interface CallContext {
  readonly api: KubernetesApi;
  /**
   * Runs a shell script in a container of the namespace. Exit code 0 means that the script ran to its end.
   * Errors: see `runScript`.
   */
  readonly exec: (command: ExecCommand) => Promise<ExecResult>;
  readonly config: CpiConfig;
  /** The namespace of the VMs. */
  readonly namespace: string;
  /** The namespace of claims and attachment pods. */
  readonly diskNamespace: string;
  readonly clock: Clock;
  readonly newUuid: () => string;
  /** `context.director_uuid` of the call, for the label. */
  readonly directorUuid: string | undefined;
  /** Adds a line to the `log` of the response, for news to the operator that are not errors. */
  readonly log: (line: string) => void;
  /**
   * Reports a line to the operator at once, while the call runs, on stderr, which is the director's log of
   * the CPI. create-env prints lines that begin with one of progressPrefixes.
   */
  readonly reportProgress: (line: string) => void;
}

/** The parts of a call that every object of the CPI shows. */
export type ObjectContext = Pick<CallContext, 'namespace' | 'directorUuid'>;

/**
 * One CPI method: takes the request, returns the response's `result`. Every verb can be repeated after it
 * ended or was interrupted at any point.
 */
export type Verb<Request, Result = unknown> = (call: CallContext, request: Request) => Promise<Result>;
