const shortestSecret = 6;
/** Parts of create_vm's env that name things and are no secrets. */
const plainKeys = new Set([
  'group',
  'groups',
  'tags',
  'name',
  'cluster',
  'namespace',
  'server',
  'current-context',
]);

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
