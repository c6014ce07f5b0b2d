/** A value in the form that mounts need: a string, or a boolean for a flag. */
export type OptionValue = string | boolean;

/** The result of parsing a user's value. An error says what the value must be, and never quotes it. */
export type ParsedOption = { readonly value: OptionValue } | { readonly problem: string };

/** A type of values: its parser, and its JSON schema (draft-04) for the catalog. */
export interface OptionType {
  parse(value: unknown): ParsedOption;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** A flag: true, false, 'true' or 'false'. */
export const flag: OptionType = {
  parse: (value) => {
    if (value === true || value === 'true') return { value: true };
    if (value === false || value === 'false') return { value: false };
    return { problem: 'must be true or false' };
  },
  schema: { enum: [true, false, 'true', 'false'] },
};

/** The kernel treats 4294967295 as -1, and 0 is root. */
const lastId = 4_294_967_294;

/** A uid or gid of a user on the file server. */
export const userId: OptionType = {
  parse: (value) => {
    const written = typeof value === 'number' ? String(value) : value;
    const isWhole = typeof written === 'string' && /^[0-9]{1,10}$/u.test(written);
    const id = isWhole ? Number(written) : 0;
    return id >= 1 && id <= lastId
      ? { value: String(id) }
      : { problem: `must be a whole number from 1 to ${lastId}` };
  },
  schema: { type: ['integer', 'string'], pattern: '^[0-9]{1,10}$', minimum: 1, maximum: lastId },
};

/**
 * Returns the type for one of a few strings. A number becomes the string that `numbers` has for it, or its
 * own digits.
 */
export function oneOf(texts: readonly string[], numbers: Readonly<Record<string, string>> = {}): OptionType {
  return {
    parse: (value) => {
      const written = typeof value === 'number' ? (numbers[String(value)] ?? String(value)) : value;
      return typeof written === 'string' && texts.includes(written)
        ? { value: written }
        : { problem: `must be one of ${texts.join(', ')}` };
    },
    schema: { enum: [...texts, ...[...new Set(texts.map(Number))].filter(Number.isFinite)] },
  };
}

/**
 * Returns the type for a string that matches a pattern and has at most `maxLength` characters. `what`
 * completes "must be ...".
 */
export function text(pattern: RegExp, maxLength: number, what: string): OptionType {
  return {
    parse: (value) =>
      typeof value === 'string' && value.length <= maxLength && pattern.test(value)
        ? { value }
        : { problem: `must be ${what}, of at most ${maxLength} characters` },
    schema: { type: 'string', minLength: 1, maxLength },
  };
}

/** A version of NFS. With `4`, server and client negotiate the minor version. */
export const nfsVersion = oneOf(['3', '3.0', '4', '4.0', '4.1', '4.2']);

/** A version of SMB. */
export const smbVersion = oneOf(['1.0', '2.0', '2.1', '3', '3.0', '3.1.1'], { '1': '1.0', '2': '2.0' });

/** The name of a user in a directory (LDAP). */
export const directoryUser = text(
  /^[^\p{Cc}\p{Zl}\p{Zp},-][^\p{Cc}\p{Zl}\p{Zp},]*$/u,
  256,
  'a name without comma, control characters and leading dash',
);

/**
 * Rejects an empty password: many LDAP servers treat it as an anonymous bind, which succeeds (RFC 4513,
 * 5.1.2).
 */
export const directoryPassword = text(/^[^\p{Cc}]+$/u, 1024, 'a text without control characters');

/**
 * A user name without `%` and slashes: in mount.cifs `user%password` and `domain/user` have a special
 * meaning.
 */
export const smbUser = text(
  /^[^\p{Cc}\p{Zl}\p{Zp},%/\\-][^\p{Cc}\p{Zl}\p{Zp},%/\\]*$/u,
  256,
  'a name without comma, %, slashes, control characters and leading dash',
);

export const smbPassword = text(/^[^\p{Cc}]+$/u, 512, 'a text without control characters');

export const smbDomain = text(
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/u,
  255,
  'a name of letters, digits, dots, dashes and underscores',
);

/** The errors of options, by kind. */
export interface OptionErrors {
  readonly invalid: string[];
  readonly notAllowed: string[];
  readonly missing: string[];
}

/**
 * Describes the errors in the three lines of the old brokers and drivers. Their acceptance tests search for
 * the second line. Returns '' if there are no errors.
 */
export function describeOptionErrors({ invalid, notAllowed, missing }: OptionErrors): string {
  const unique = (problems: readonly string[]): string[] => [...new Set(problems)];
  return [
    ['validation mount options failed', unique(invalid).toSorted().join('; ')],
    ['Not allowed options', unique(notAllowed).toSorted().join(', ')],
    ['Missing mandatory options', unique(missing).join(', ')],
  ]
    .filter(([, problems]) => problems !== '')
    .map(([title, problems]) => `- ${title}: ${problems}`)
    .join('\n');
}

/** Returns an untrusted name of an option in a form that fits into one line. */
export const printableName = (name: string): string =>
  name === '' ? '""' : name.slice(0, 64).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?');
