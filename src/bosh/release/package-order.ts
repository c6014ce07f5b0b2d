import type { Release, ReleasePackage } from './release.ts';

/** The packages named and all they depend on, each after its dependencies. RELEASE_INVALID on a missing one or a cycle. */
export function packagesInOrder(release: Release, names: readonly string[]): readonly ReleasePackage[] {
  throw new Error(`packagesInOrder is not written yet (${release.name}, ${names.length})`);
}

/** What the package depends on, directly or not, each after its dependencies; without itself. */
export function dependenciesOf(release: Release, name: string): readonly ReleasePackage[] {
  return packagesInOrder(release, [name]).filter((one) => one.name !== name);
}
