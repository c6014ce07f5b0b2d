import type { NamedEntry } from './kubeconfig.ts';
import { invalidKubeconfig, optionalString } from './kubeconfig.ts';

/** Headers by name in lower case; a list is one line for each value. */
export type Headers = Readonly<Record<string, string | string[]>>;

const user = 'as';
const userRequired = ['as-groups', 'as-uid', 'as-user-extra'] as const;

/**
 * The headers that say as whom a kubeconfig's user acts: `as`, `as-groups`, `as-uid`, `as-user-extra` (client-go:
 * transport/round_trippers.go, impersonatingRoundTripper). The others without `as` are refused as by client-go
 * (tools/clientcmd/validation.go): the API would answer them with the rights of the credentials.
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

/** A server reads the names without regard to case, so that two keys may be one. */
function extraHeaders(value: unknown, place: string): Headers {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidKubeconfig(place, 'must be a mapping of lists');
  const headers = new Map<string, string[]>();
  for (const [key, given] of Object.entries(value)) {
    if (key === '') throw invalidKubeconfig(place, 'has an empty key');
    const name = `impersonate-extra-${escapedKey(key)}`.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), ...textsOf(given, place)]);
  }
  const sent = [...headers].filter(([, values]) => values.length > 0);
  return Object.fromEntries(sent.map(([name, values]) => [name, lines(values)]));
}

/** Bytes that have no place in a header's name, and `%`, as %XX (client-go: headerKeyEscape). */
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

function textsOf(value: unknown, place: string): string[] {
  if (!Array.isArray(value)) throw invalidKubeconfig(place, 'must be a list of strings');
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw invalidKubeconfig(place, 'must be a list of strings');
    return headerValue(item, place);
  });
}

/** A line break would begin another header; blanks at the ends get lost on the way, and make it another name. */
function headerValue(text: string, place: string): string {
  if (/^[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?$/u.test(text)) return text;
  throw invalidKubeconfig(
    place,
    'cannot be sent in a header: it is empty, begins or ends with a blank, or has a character that is not printable ASCII',
  );
}

const lines = (values: string[]): string | string[] => (values.length === 1 ? (values[0] ?? '') : values);
