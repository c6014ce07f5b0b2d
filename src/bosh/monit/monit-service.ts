import { isDeepStrictEqual } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';

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

/**
 * Checks the services of all jobs of a VM together and returns them in start order: sorted by dependencies,
 * otherwise in the given order. Throws AGENT_MONIT_INVALID, with the job, for a name that is declared twice,
 * a dependency that is not declared, and a dependency cycle.
 */
export function sortByDependencies(services: readonly MonitService[]): readonly MonitService[] {
  const byName = new Map<string, MonitService>();
  for (const service of services) {
    const other = byName.get(service.name);
    if (other !== undefined) {
      const where =
        other.job === service.job
          ? `declared twice, in lines ${other.line} and ${service.line}`
          : `also declared by job '${other.job}'`;
      throw invalid(service, `'${service.name}' is ${where}: rename one`);
    }
    byName.set(service.name, service);
  }
  const ordered = new Set<MonitService>();
  for (const service of services) visit(service, [], { byName, ordered });
  return [...ordered];
}

function visit(
  service: MonitService,
  path: readonly MonitService[],
  known: { readonly byName: ReadonlyMap<string, MonitService>; readonly ordered: Set<MonitService> },
): void {
  if (known.ordered.has(service)) return;
  if (path.includes(service)) {
    const names = [...path.slice(path.indexOf(service)), service].map(({ name }) => `'${name}'`);
    throw invalid(service, `'depends on' is circular: ${names.join(' on ')}: remove one of them`);
  }
  for (const name of service.dependsOn) {
    const needed = known.byName.get(name);
    if (needed === undefined)
      throw invalid(service, `'${service.name}' depends on '${name}', which no job of this VM declares`);
    visit(needed, [...path, service], known);
  }
  known.ordered.add(service);
}

/**
 * Returns true if the start program of `other` starts this service as well: both have the same one, or this
 * service has none.
 */
export function isBegunBy({ job, name, start }: MonitService, other: MonitService): boolean {
  if (job !== other.job || name === other.name || other.start === undefined) return false;
  return start === undefined || isSameProgram(start, other.start);
}

const isSameProgram = (one: MonitProgram, other: MonitProgram): boolean =>
  isDeepStrictEqual({ ...one, timeoutSeconds: 0 }, { ...other, timeoutSeconds: 0 });

/**
 * Returns the groups of services that depend on each other, directly or indirectly, or have the same start
 * program. Each group is in the given order.
 */
export function dependencyGroups(services: readonly MonitService[]): readonly (readonly MonitService[])[] {
  const groups = new Map<string, string>();
  const rootOf = (name: string): string => {
    const parent = groups.get(name) ?? name;
    return parent === name ? name : rootOf(parent);
  };
  for (const service of services) {
    const { name, start, dependsOn } = service;
    const same = start === undefined ? undefined : services.find((other) => isBegunBy(service, other));
    for (const needed of [...dependsOn, ...(same === undefined ? [] : [same.name])])
      groups.set(rootOf(needed), rootOf(name));
  }
  return [...Map.groupBy(services, ({ name }) => rootOf(name)).values()];
}

function invalid({ job, line }: MonitService, cause: string): ProductError {
  return new ProductError('AGENT_MONIT_INVALID', `job '${job}': monit line ${line}, column 1: ${cause}`);
}
