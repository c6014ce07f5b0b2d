const shortestSecret = 6;
/** Parts of create_vm's env that name things and are no secrets. */
const plainKeys = new Set(['group', 'groups', 'tags']);
const secretLines =
  /^\s*(?:- )?(?:token|password|client-key-data|client-certificate-data):\s*["']?([^\s"']+)/gmu;

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
  const { agent, kubernetes, contexts } = objectOf(config);
  return [
    agent,
    ...secretsOfAccess(objectOf(kubernetes)),
    ...Object.values(objectOf(contexts)).flatMap(secretsOf),
  ];
}

function secretsOfAccess({ kubeconfig }: Record<string, unknown>): unknown[] {
  if (typeof kubeconfig === 'string')
    return [kubeconfig, [...kubeconfig.matchAll(secretLines)].map(([, value]) => value)];
  const { users } = objectOf(kubeconfig);
  return [Array.isArray(users) ? users.map((entry) => objectOf(entry)['user']) : users];
}

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
