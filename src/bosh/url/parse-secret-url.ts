/** A URL in its parts; only `url` may be shown. */
export interface SecretUrl {
  /** Without user and password. */
  readonly url: URL;
  readonly user: string;
  readonly password: string;
}

/** How to write a URL that `parseSecretUrl` does not take; it is never quoted, since what it holds in which place is not known. */
export const secretUrlHelp =
  'is not a URL; in user and password % / ? # @ and : have to be written %25 %2F %3F %23 %40 and %3A';

/**
 * Parses a URL that may hold user and password, for all who use one. Undefined where it is none, where its encoding does not fit
 * (`%S3`), and where a password may have been taken for host, port and path (`https://user:12/34@host`): an `@` behind them.
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

/** The host of a URL is this machine; a name that may lead elsewhere is not taken for it. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
