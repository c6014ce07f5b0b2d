/** What else decides the outcome of compiling a package: all that it needs, by name and fingerprint (bosh-cli state/pkg). */
export function dependencyKey(
  dependencies: readonly { readonly name: string; readonly fingerprint: string }[],
): string {
  return dependencies
    .map(({ name, fingerprint }) => `${name}:${fingerprint}`)
    .toSorted()
    .join(',');
}
