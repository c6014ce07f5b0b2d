import { ProductError } from '../errors/product-error.ts';

/** distribution's reference grammar, less the length rules (github.com/distribution/reference). */
const reference =
  /^(?<name>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/u;

/** Returns name and digest of the image that nodes pull; undefined if the text is not an image reference. */
export function parseImageReference(
  text: string,
): { readonly name: string; readonly digest: string | undefined } | undefined {
  const { name, digest } = reference.exec(text)?.groups ?? {};
  return name === undefined ? undefined : { name, digest };
}

/** Replaces the host of a registry in the name of a stemcell's image that was built and not pushed. */
export const placeholderHost = 'bosh-kubernetes.local';

/** Host, repository and tag, without a digest (github.com/distribution/reference, grammar). */
const pattern =
  /^(?<host>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?)\/(?<repository>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$/;

/** The name of an image without its digest. */
export interface ImageName {
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
}

/**
 * Parses `HOST/REPOSITORY[:TAG]`; the default tag is `latest`. The host is required, because each program
 * completes a name without a host in its own way. Otherwise throws INVALID_ARGUMENT.
 */
export function parseImageName(text: string): ImageName {
  const { host, repository, tag } = pattern.exec(text)?.groups ?? {};
  const isHost = host !== undefined && /[.:]|^localhost$/.test(host);
  if (!isHost || repository === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${text}' is not an image reference; expected HOST/REPOSITORY:TAG, as in registry.example/stemcells/bookworm:1`,
    );
  return { host, repository, tag: tag ?? 'latest' };
}

/** Returns the full name, which every program reads alike. */
export function formatImageName({ host, repository, tag }: ImageName): string {
  return `${host}/${repository}:${tag}`;
}

/** Rules of distribution-spec 1.1, "Pulling manifests". */
const repositoryName = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/u;

export const isRepository = (text: string): boolean => text.length <= 255 && repositoryName.test(text);

/** The host of an image reference: a name, or an IPv4 address. */
const hostName = /^[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*(?::\d{1,5})?$/u;
export const isHost = (text: string): boolean => hostName.test(text);

/**
 * Returns the problem of a registry's URL, as a text that follows the name of the setting; undefined if it is
 * valid.
 */
export function registryUrlProblem(text: string, allowsPlainHttp: boolean): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL such as https://registry.example:5000';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or a password: they have their own settings';
  if (!['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    return 'must be an https URL with only a host and a port';
  if (url.pathname !== '/') return 'must have no path: a path belongs to the repository';
  if (url.protocol === 'http:' && !allowsPlainHttp && !isLoopback(url.hostname))
    return 'is plain http, which is allowed only for this machine unless plain_http is true';
  return undefined;
}

/**
 * Returns whether the server at `from` may redirect this client, with its password or an image, to `to`:
 * https to any host; plain http only if `from` is plain http, too, and then only to the same host or within
 * this machine.
 */
export function isAtLeastAsSecure(from: URL, to: URL): boolean {
  if (to.protocol === 'https:') return true;
  if (to.protocol !== 'http:' || from.protocol !== 'http:') return false;
  return to.hostname === from.hostname || (isLoopback(from.hostname) && isLoopback(to.hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
