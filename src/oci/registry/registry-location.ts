/** Rules of distribution-spec 1.1, "Pulling manifests". */
const repositoryName = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/u;

export const isRepository = (text: string): boolean => text.length <= 255 && repositoryName.test(text);

/** A host of an image reference: a name, or an address of IPv4. */
const hostName = /^[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*(?::\d{1,5})?$/u;
export const isHost = (text: string): boolean => hostName.test(text);

/** What is wrong with the URL of a registry, in words that follow the name of the setting; undefined: nothing. */
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
 * Whether the server at `from` may send us, our password or an image, on to `to`: to https anywhere; in plain http only where it
 * is plain itself, and then to its own host or within this machine.
 */
export function isAtLeastAsSecure(from: URL, to: URL): boolean {
  if (to.protocol === 'https:') return true;
  if (to.protocol !== 'http:' || from.protocol !== 'http:') return false;
  return to.hostname === from.hostname || (isLoopback(from.hostname) && isLoopback(to.hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
