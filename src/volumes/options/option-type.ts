/** A value in the form that mounts need: a string, or a boolean for a flag. */
export type OptionValue = string | boolean;

/** The result of parsing a user's value. An error says what the value must be, and never quotes it. */
export type ParsedOption = { readonly value: OptionValue } | { readonly fault: string };

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
    return { fault: 'must be true or false' };
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
      : { fault: `must be a whole number from 1 to ${lastId}` };
  },
  schema: { type: ['integer', 'string'], pattern: '^[0-9]{1,10}$', minimum: 1, maximum: lastId },
};

/**
 * Returns the type for one of a few strings. A number becomes the string that `numbers` has for it, or its
 * own digits.
 */
export function choice(texts: readonly string[], numbers: Readonly<Record<string, string>> = {}): OptionType {
  return {
    parse: (value) => {
      const written = typeof value === 'number' ? (numbers[String(value)] ?? String(value)) : value;
      return typeof written === 'string' && texts.includes(written)
        ? { value: written }
        : { fault: `must be one of ${texts.join(', ')}` };
    },
    schema: { enum: [...texts, ...[...new Set(texts.map(Number))].filter(Number.isFinite)] },
  };
}

/**
 * Returns the type for a string that matches a pattern and has at most `longest` characters. `what` completes
 * "must be ...".
 */
export function text(pattern: RegExp, longest: number, what: string): OptionType {
  return {
    parse: (value) =>
      typeof value === 'string' && value.length <= longest && pattern.test(value)
        ? { value }
        : { fault: `must be ${what}, of at most ${longest} characters` },
    schema: { type: 'string', minLength: 1, maxLength: longest },
  };
}
