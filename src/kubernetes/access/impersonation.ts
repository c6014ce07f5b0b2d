import { type Headers } from './access.ts';
import { type NamedEntry, invalidKubeconfig, optionalString } from './kubeconfig.ts';

const user = 'as';
const userRequired = ['as-groups', 'as-uid', 'as-user-extra'] as const;

/**
 * Returns the impersonation headers of a kubeconfig's user: `as`, `as-groups`, `as-uid`, `as-user-extra`
 * (client-go: transport/round_trippers.go, impersonatingRoundTripper). Like client-go
 * (tools/clientcmd/validation.go), rejects the other keys without `as`: the API would use the rights of the
 * credentials themselves.
 */
export function impersonationHeaders({ key, fields }: NamedEntry): Headers {
  const name = optionalString(fields, user, `${key}.${user}`);
  if (name === undefined) {
    const other = userRequired.find((field) => !isEmpty(fields[field]));
    if (other === undefined) return {};
    throw invalidKubeconfig(`${key}.${other}`, 'needs a user to act as: give `as`, too');
  }
  const uid = optionalString(fields, 'as-uid', `${key}.as-uid`);
  const groups = textsOf(fields['as-groups'] ?? [], `${key}.as-groups`);
  return {
    'impersonate-user': headerValue(name, `${key}.${user}`),
    ...(uid !== undefined && { 'impersonate-uid': headerValue(uid, `${key}.as-uid`) }),
    ...(groups.length > 0 && { 'impersonate-group': lines(groups) }),
    ...extraHeaders(fields['as-user-extra'] ?? {}, `${key}.as-user-extra`),
  };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return value === undefined || value === null || value === '';
  return Object.keys(value).length === 0;
}

/** Header names are case-insensitive, so two keys may name the same header; their values are combined. */
function extraHeaders(value: unknown, location: string): Headers {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidKubeconfig(location, 'must be a mapping of lists');
  const headers = new Map<string, string[]>();
  for (const [key, given] of Object.entries(value)) {
    if (key === '') throw invalidKubeconfig(location, 'has an empty key');
    const name = `impersonate-extra-${escapedKey(key)}`.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), ...textsOf(given, location)]);
  }
  const sent = [...headers].filter(([, values]) => values.length > 0);
  return Object.fromEntries(sent.map(([name, values]) => [name, lines(values)]));
}

/** Escapes `%`, and bytes that a header name cannot have, as %XX (client-go: headerKeyEscape). */
function escapedKey(key: string): string {
  let text = '';
  for (const byte of new TextEncoder().encode(key)) {
    const character = String.fromCharCode(byte);
    text += /[!#$&'*+.^_`|~0-9A-Za-z-]/u.test(character)
      ? character
      : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`;
  }
  return text;
}

function textsOf(value: unknown, location: string): string[] {
  if (!Array.isArray(value)) throw invalidKubeconfig(location, 'must be a list of strings');
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw invalidKubeconfig(location, 'must be a list of strings');
    return headerValue(item, location);
  });
}

/**
 * Rejects values that would change in transit: a line break would begin another header, and blanks at either
 * end are stripped, which makes it another name.
 */
function headerValue(text: string, location: string): string {
  if (/^[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?$/u.test(text)) return text;
  throw invalidKubeconfig(
    location,
    'cannot be sent in a header: it is empty, begins or ends with a blank, or has a character that is not printable ASCII',
  );
}

const lines = (values: string[]): string | string[] => (values.length === 1 ? (values[0] ?? '') : values);
