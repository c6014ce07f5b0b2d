/** The addresses of a name on this machine. */
export interface ResolvedName {
  readonly name: string;
  readonly addresses: readonly string[];
  /** The code of the resolver's error, such as ENOTFOUND. Empty if the name resolves. */
  readonly error: string;
}

/** Resolves a name. Never rejects for a name that does not resolve. */
export type ResolveName = (name: string) => Promise<ResolvedName>;

/**
 * Resolves the name of the API, and any other name below the system domain, as apps have: only a wildcard
 * record has both. `label` is random, so that no record has its name.
 */
export async function resolveSystemDomain(
  domain: string,
  { resolve, label }: { readonly resolve: ResolveName; readonly label: string },
): Promise<readonly ResolvedName[]> {
  return Promise.all([resolve(`api.${domain}`), resolve(`${label}.${domain}`)]);
}
