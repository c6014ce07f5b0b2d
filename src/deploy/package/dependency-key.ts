/**
 * Returns the names and fingerprints of all dependencies of a package, which also determine the result of
 * compiling it (bosh-cli state/pkg).
 */
export function dependencyKey(
  dependencies: readonly { readonly name: string; readonly fingerprint: string }[],
): string {
  return dependencies
    .map(({ name, fingerprint }) => `${name}:${fingerprint}`)
    .toSorted()
    .join(',');
}
