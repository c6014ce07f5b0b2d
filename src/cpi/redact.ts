const shortestSecret = 6;
/** Parts of create_vm's env that name things and are no secrets. */
const plainKeys = new Set(['group', 'groups', 'tags']);
const secretLines =
  /^\s*(?:- )?(?:token|password|client-key-data|client-certificate-data|proxy-url|value):\s*["']?([^\s"']+)/gmu;

/**
 * A function that replaces every string found in `sources` (and the password of each URL among them).
 * The last line of defence for error messages, which may carry text of an API server.
 */
export function redactor(...sources: unknown[]): (text: string) => string {
  let secrets: string[] | undefined;
  return (text) => {
    secrets ??= [...new Set(sources.flatMap((source) => stringsIn(source)))].toSorted(
      (a, b) => b.length - a.length,
    );
    return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '<redacted>'), text);
  };
}

/** The secret parts of a configuration or of a request's context, whatever their shape: it may not have been parsed. */
export function secretsOf(config: unknown): unknown[] {
  const { agent, kubernetes, contexts, env, registry } = objectOf(config);
  const inContexts = Object.values(objectOf(contexts)).flatMap((context) => secretsOf(context));
  const { password } = objectOf(registry);
  return [agent, password, ...secretsOfAccess(objectOf(kubernetes)), ...passwordsOf(env), ...inContexts];
}

function secretsOfAccess({ kubeconfig, token, client_key: key }: Record<string, unknown>): unknown[] {
  if (typeof kubeconfig === 'string')
    return [token, key, kubeconfig, [...kubeconfig.matchAll(secretLines)].map(([, value]) => value)];
  const { users, clusters } = objectOf(kubeconfig);
  const proxies = listOf(clusters).map((entry) => objectOf(objectOf(entry)['cluster'])['proxy-url']);
  return [token, key, listOf(users).flatMap(secretsOfUser), passwordsOf(proxies)];
}

/** Of an exec plugin what is given to it; what it is called is no secret. */
function secretsOfUser(entry: unknown): unknown[] {
  const { exec, ...user } = objectOf(objectOf(entry)['user']);
  const { args, env } = objectOf(exec);
  return [user, args, listOf(env).map((variable) => objectOf(variable)['value'])];
}

/** Passwords of the URLs in a value; the URLs themselves name servers and are no secret. */
const passwordsOf = (value: unknown): string[] =>
  stringsIn(value).flatMap((text) => withPassword(text).slice(1));

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return withPassword(value).filter((text) => text.length >= shortestSecret);
  if (Array.isArray(value)) return value.flatMap((item) => stringsIn(item));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (plainKeys.has(key) ? [] : stringsIn(item)));
}

function withPassword(text: string): string[] {
  const password = /^[a-z+]+:\/\/[^/@]*:([^/@]+)@/u.exec(text)?.[1];
  return password === undefined ? [text] : [text, password];
}
