import type { ScalarValue } from './yaml-node.ts';

type GoTag = 'text' | 'bool' | 'null' | 'int' | 'float' | 'timestamp';

export interface GoScalar {
  readonly tag: GoTag;
  readonly value: ScalarValue;
}

const words: ReadonlyMap<string, GoScalar> = new Map([
  ...named('bool', true, ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']),
  ...named('bool', false, ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']),
  ...named('null', null, ['', '~', 'null', 'Null', 'NULL']),
  ...named('float', Number.NaN, ['.nan', '.NaN', '.NAN']),
  ...named('float', Infinity, ['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF']),
  ...named('float', -Infinity, ['-.inf', '-.Inf', '-.INF']),
]);

/** Patterns of integers, each with the prefix that BigInt accepts. */
const notations: readonly (readonly [RegExp, string])[] = [
  [/^0[xX]([0-9a-fA-F]+)$/, '0x'],
  [/^0[bB]([01]+)$/, '0b'],
  [/^0[oO]?([0-7]+)$/, '0o'],
  [/^(0|[1-9][0-9]*)$/, ''],
];

/**
 * Returns the meaning of an unquoted YAML scalar in BOSH's tools (go yaml.v2: resolve.go): YAML 1.1's words
 * and octal numbers, but neither base 60 numbers nor dates, which stay strings. Integers beyond 64 bits are
 * floats there.
 */
export function resolvePlain(text: string): GoScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text.startsWith('.')) return dotFloat(text) ?? plainText(text);
  if (!/^[-+0-9]/.test(text)) return plainText(text);
  if (isTimestamp(text)) return { tag: 'timestamp', value: text };
  const digits = text.replaceAll('_', '');
  const integer = parseInteger(digits);
  if (integer !== undefined) return { tag: 'int', value: integer };
  if (/^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(digits)) {
    // strconv fails for a number beyond 64 bits, so it is a string.
    return Number.isFinite(Number(digits)) ? { tag: 'float', value: Number(digits) } : plainText(text);
  }
  return plainText(text);
}

/**
 * Parses an integer in any of Go's notations: up to 64 bits without a sign, up to 63 bits with one. Returns
 * undefined for any other text.
 */
function parseInteger(text: string): number | bigint | undefined {
  const unsigned = text.replace(/^[-+]/, '');
  for (const [pattern, prefix] of notations) {
    const digits = pattern.exec(unsigned)?.[1];
    if (digits === undefined) continue;
    const size = BigInt(`${prefix}${digits}`);
    const value = text.startsWith('-') ? -size : size;
    if (value < -(2n ** 63n) || value >= (unsigned === text ? 2n ** 64n : 2n ** 63n)) return undefined;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  return undefined;
}

function dotFloat(text: string): GoScalar | undefined {
  const matches = /^\.[0-9]+([eE][-+]?[0-9]+)?$/.test(text) && Number.isFinite(Number(text));
  return matches ? { tag: 'float', value: Number(text) } : undefined;
}

/** Returns true for dates of go yaml.v2: a valid day, with or without a time of day. */
function isTimestamp(text: string): boolean {
  const match =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})([.,]\d+)?(?:Z|[-+]\d\d:\d\d)| (\d{1,2}):(\d{1,2}):(\d{1,2})([.,]\d+)?)?$/.exec(
      text,
    );
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [hour, minute, second] = [4, 5, 6].map((group) => Number(match[group] ?? match[group + 4] ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const realDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return realDay && (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) < 60;
}

function plainText(text: string): GoScalar {
  return { tag: 'text', value: text };
}

function named(
  tag: GoTag,
  value: ScalarValue,
  texts: readonly string[],
): readonly (readonly [string, GoScalar])[] {
  return texts.map((text) => [text, { tag, value }] as const);
}
