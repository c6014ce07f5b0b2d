import { type Headers } from './access.ts';
import type { Field } from '../../platform/field.ts';
import { optionalString } from './kubeconfig.ts';

const userRequired = ['as-groups', 'as-uid', 'as-user-extra'] as const;

/**
 * Returns the impersonation headers of a kubeconfig's user: `as`, `as-groups`, `as-uid`, `as-user-extra`
 * (client-go: transport/round_trippers.go, impersonatingRoundTripper). Like client-go
 * (tools/clientcmd/validation.go), rejects the other keys without `as`: the API would use the rights of the
 * credentials themselves.
 */
export function impersonationHeaders(user: Field): Headers {
  const name = user.get('as');
  if (optionalString(name) === undefined) {
    const other = userRequired.map((key) => user.get(key)).find((field) => !isEmpty(field));
    if (other === undefined) return {};
    throw other.error('needs a user to act as: give `as`, too');
  }
  const uid = user.get('as-uid');
  const groups = user.get('as-groups').list().map(headerValue);
  return {
    'impersonate-user': headerValue(name),
    ...(optionalString(uid) !== undefined && { 'impersonate-uid': headerValue(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': lines(groups) }),
    ...extraHeaders(user.get('as-user-extra')),
  };
}

function isEmpty({ value }: Field): boolean {
  if (typeof value !== 'object' || value === null) return value === undefined || value === '';
  return Object.keys(value).length === 0;
}

/** Header names are case-insensitive, so two keys may name the same header; their values are combined. */
function extraHeaders(extra: Field): Headers {
  const headers = new Map<string, string[]>();
  for (const [key, values] of extra.entries()) {
    if (key === '') throw extra.error('has an empty key');
    const name = `impersonate-extra-${escapedKey(key)}`.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), ...values.list().map(headerValue)]);
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

/**
 * Rejects values that would change in transit: a line break would begin another header, and blanks at either
 * end are stripped, which makes it another name.
 */
function headerValue(field: Field): string {
  const text = field.string();
  if (/^[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?$/u.test(text)) return text;
  throw field.error(
    'cannot be sent in a header: it is empty, begins or ends with a blank, or has a character that is not printable ASCII',
  );
}

const lines = (values: string[]): string | string[] => (values.length === 1 ? (values[0] ?? '') : values);
