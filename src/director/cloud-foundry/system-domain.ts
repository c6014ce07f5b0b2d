import { isDnsSubdomain } from '../../kubernetes/names.ts';

/**
 * The longest prefix of the system domain in a certificate's common name, of loggregator_rlp_gateway_tls in
 * cf-deployment. A common name has at most 64 characters (RFC 5280).
 */
const longestPrefix = 'log-stream.';

export const maxDomainLength = 64 - longestPrefix.length;

/**
 * Returns true if names below the domain are valid, also as common names of certificates. A name whose last
 * label consists of digits counts as an IP address.
 */
export const isSystemDomain = (text: string): boolean =>
  text.length <= maxDomainLength && text.includes('.') && isDnsSubdomain(text) && !/\.\d+$/u.test(text);

const publicDomain = '.sslip.io';

/**
 * Returns true if a public service resolves the names below the domain, so that no other record can be made
 * for them.
 */
export const isPublicDomain = (domain: string): boolean => domain.endsWith(publicDomain);

/**
 * Returns the domain whose names a public service resolves to the address. `address` is canonical. A label
 * cannot begin or end with a hyphen.
 */
export const publicDomainOf = (address: string): string =>
  `${address.replaceAll(':', '-').replace(/^-/u, '0-').replace(/-$/u, '-0')}${publicDomain}`;

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
