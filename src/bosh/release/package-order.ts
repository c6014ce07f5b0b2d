import { ProductError } from '../../errors/product-error.ts';
import type { Release, ReleasePackage } from './release.ts';

/**
 * Returns the named packages and all their dependencies, each after its own dependencies. Throws
 * RELEASE_INVALID for a missing package or a cycle.
 */
export function packagesInOrder(release: Release, names: readonly string[]): readonly ReleasePackage[] {
  const ordered = new Map<string, ReleasePackage>();
  const visit = (name: string, users: readonly string[]): void => {
    if (ordered.has(name)) return;
    if (users.includes(name)) throw invalid(release, `packages depend on each other: ${[...users, name].join(' -> ')}`);
    const found = release.packages.find((one) => one.name === name);
    if (found === undefined) throw invalid(release, `there is no package '${name}'`);
    for (const dependency of found.dependencies) visit(dependency, [...users, name]);
    ordered.set(name, found);
  };
  for (const name of names) visit(name, []);
  return [...ordered.values()];
}

/**
 * Returns the dependencies of the package, direct and indirect, each after its own dependencies. Does not
 * return the package itself.
 */
export function dependenciesOf(release: Release, name: string): readonly ReleasePackage[] {
  return packagesInOrder(release, [name]).filter((one) => one.name !== name);
}

function invalid(release: Release, message: string): ProductError {
  return new ProductError('RELEASE_INVALID', `Release '${release.name}/${release.version}': ${message}`);
}
