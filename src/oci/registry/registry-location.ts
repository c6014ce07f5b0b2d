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
    return 'must not hold a user or a password: they have settings of their own';
  if (!['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    return 'has to be https, with host and port only';
  if (url.pathname !== '/') return 'has to be without a path: a path belongs to the repository';
  if (url.protocol === 'http:' && !allowsPlainHttp && !isLoopback(url.hostname))
    return 'is plain http, which is allowed for this machine alone unless plain_http is true';
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
