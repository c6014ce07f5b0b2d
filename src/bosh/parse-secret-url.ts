/** The parts of a URL. Only `url` may be shown. */
export interface SecretUrl {
  /** The URL without user and password. */
  readonly url: URL;
  readonly user: string;
  readonly password: string;
}

/**
 * Help for a URL that `parseSecretUrl` rejects. Such a URL is never quoted, because the password may be in
 * any part of it.
 */
export const secretUrlHelp =
  'is not a URL; in the user and password, % / ? # @ and : must be written as %25 %2F %3F %23 %40 and %3A';

/**
 * Parses a URL that may contain user and password. Returns undefined if the text is not a URL, if its
 * encoding is invalid (`%S3`), or if a part of a password may have been parsed as host, port and path, as in
 * `https://user:12/34@host`, where an `@` follows them.
 */
export function parseSecretUrl(text: string): SecretUrl | undefined {
  const [, authority = '', rest = ''] = /^[a-z][a-z0-9+.-]*:\/\/([^/\\?#]*)(.*)$/isu.exec(text) ?? [];
  if (!URL.canParse(text) || (rest.includes('@') && /[:@]/u.test(authority))) return undefined;
  const url = new URL(text);
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined) return undefined;
  url.username = '';
  url.password = '';
  return { url, user, password };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * Returns true if the host of a URL is this machine. Returns false for a name that may resolve to another
 * one.
 */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
