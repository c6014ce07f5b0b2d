/** A program of a monit file, split into arguments as monit does. */
export interface MonitProgram {
  readonly arguments: readonly [string, ...string[]];
  /** Seconds that the program has to bring the service up or down. */
  readonly timeoutSeconds: number;
  /** User and group to run as, by name or number. */
  readonly user: string | undefined;
  readonly group: string | undefined;
}

/** The object of a check. */
export type MonitSubject =
  | { readonly kind: 'pidfile'; readonly path: string }
  /** The first process whose command line matches the pattern. */
  | { readonly kind: 'matching'; readonly pattern: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'host'; readonly address: string };

/**
 * How often a test must fail (for a recovery: pass) within how many of the last cycles: 3 of 3 for `for 3
 * cycles`, 1 of 1 by default.
 */
export interface MonitRate {
  readonly count: number;
  readonly cycles: number;
}

export type MonitAction =
  | { readonly kind: 'alert' | 'restart' | 'start' | 'stop' | 'unmonitor' }
  | { readonly kind: 'exec'; readonly program: MonitProgram };

export type MonitOperator = '>' | '<' | '=' | '!=';

export const monitResources = [
  ...(['mem', 'totalmem', 'cpu', 'totalcpu', 'children'] as const),
  ...(['loadavg(1min)', 'loadavg(5min)', 'loadavg(15min)'] as const),
];
export type MonitResource = (typeof monitResources)[number];

export type MonitTest =
  | {
      readonly kind: 'resource';
      readonly resource: MonitResource;
      readonly operator: MonitOperator;
      /** In kilobytes or percent according to `unit`; a plain number for children and loadavg. */
      readonly limit: number;
      readonly unit: 'kB' | '%' | '';
    }
  | {
      readonly kind: 'connection';
      /** A TCP port of a host, or a unix socket. */
      readonly target: { readonly host: string; readonly port: number } | { readonly path: string };
      /** The path of an HTTP request; undefined if a connection is enough. */
      readonly request: string | undefined;
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'nonexistent' }
  | { readonly kind: 'changed'; readonly what: 'pid' | 'ppid' | 'timestamp' | 'checksum' };

/** An `if … then …` of a check. */
export interface MonitRule {
  readonly test: MonitTest;
  readonly rate: MonitRate;
  readonly action: MonitAction;
  /** `else if recovered then`. */
  readonly recovery: { readonly rate: MonitRate; readonly action: MonitAction } | undefined;
}

/** `if n restarts within m cycles then`; `timeout` is unmonitor. */
export interface MonitRestartLimit {
  readonly restarts: number;
  readonly cycles: number;
  readonly action: MonitAction;
}

/** A `check` of a monit file: what monit calls a service. */
export interface MonitService {
  readonly job: string;
  readonly name: string;
  /** The line at which its check begins, from 1. */
  readonly line: number;
  readonly subject: MonitSubject;
  readonly start: MonitProgram | undefined;
  readonly stop: MonitProgram | undefined;
  readonly groups: readonly string[];
  /** Names of the services on which it depends. */
  readonly dependsOn: readonly string[];
  readonly mode: 'active' | 'passive' | 'manual';
  /** The service is checked every so many cycles. */
  readonly every: number;
  readonly rules: readonly MonitRule[];
  readonly restartLimits: readonly MonitRestartLimit[];
}

/** Returns true if the check is of a process. */
export function isProcess({ subject }: MonitService): boolean {
  return subject.kind === 'pidfile' || subject.kind === 'matching';
}

/** Returns every program that a service can run. */
export function programsOf({ start, stop, rules, restartLimits }: MonitService): readonly MonitProgram[] {
  const actions = [
    ...rules.flatMap(({ action, recovery }) => [action, recovery?.action]),
    ...restartLimits.map(({ action }) => action),
  ];
  const executed = actions.map((action) => (action?.kind === 'exec' ? action.program : undefined));
  return [start, stop, ...executed].filter((program) => program !== undefined);
}
