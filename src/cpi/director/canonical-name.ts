/** A name as the director writes it into create_vm's env (bosh-director: dns/canonicalizer.rb). */
export const canonicalName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll('_', '-')
    .replaceAll(/[^a-z0-9-]/gu, '');
