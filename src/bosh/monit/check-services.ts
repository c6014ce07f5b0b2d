import { isDeepStrictEqual } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import type { MonitProgram, MonitService } from './monit-service.ts';

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
          : `declared by job '${other.job}', too`;
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
    throw invalid(service, `'depends on' goes in a circle: ${names.join(' on ')}: take one of them out`);
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
