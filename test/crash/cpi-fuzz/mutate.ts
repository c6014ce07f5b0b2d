import type { Random } from './random.ts';

const texts = [
  '',
  ' ',
  '\u0000',
  '../../etc/passwd',
  '$(id)`id`;id',
  'ünïcödé ☃ 𝒳',
  '\ud800',
  'a'.repeat(70),
  'x'.repeat(5000),
  '-1',
  'null',
  '__proto__',
  'vm-',
  'disk-x',
  'east:disk-1',
  '10.0.0.0/8',
  '1e400',
  '\n\r\t"\\',
];
const numbers = [0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 43, 2 ** 53, -(2 ** 63), 1e308, 1e-9];

/** Returns any JSON value. */
export function anyValue(random: Random, depth = 3): unknown {
  switch (random.below(depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return random.oneOf([true, false]);
    case 2:
      return random.oneOf(numbers);
    case 3:
      return random.below(1_000_000);
    case 4:
      return random.oneOf(texts);
    case 5:
      return Array.from({ length: random.below(4) }, () => anyValue(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.oneOf(texts), anyValue(random, depth - 1)]),
      );
  }
}

/**
 * Returns the value with one change: a part is replaced, removed, duplicated, wrapped or renamed, or its text
 * is cut and spliced.
 */
export function mutate(random: Random, value: unknown): unknown {
  const entries = entriesOf(value);
  if (entries.length === 0 || random.below(4) === 0) return changed(random, value);
  const [key, inner] = random.oneOf(entries);
  const others = entries.filter(([other]) => other !== key);
  switch (random.below(8)) {
    case 0:
      return rebuilt(value, others);
    case 1:
      return rebuilt(value, [...entries, [random.oneOf(texts), anyValue(random)]]);
    case 2:
      return rebuilt(value, [...others, [random.oneOf(texts), inner]]);
    case 3:
      return rebuilt(value, entries.toReversed());
    default:
      return rebuilt(
        value,
        entries.map(([name, item]) => [name, name === key ? mutate(random, item) : item]),
      );
  }
}

function changed(random: Random, value: unknown): unknown {
  switch (random.below(6)) {
    case 0:
      return [value];
    case 1:
      return typeof value === 'number' ? -value : anyValue(random);
    case 2:
      return typeof value === 'string' ? spliced(random, value) : anyValue(random);
    case 3:
      return typeof value === 'string' ? value.toUpperCase() : { a: value };
    default:
      return anyValue(random);
  }
}

function spliced(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  return `${text.slice(0, at)}${random.oneOf(texts)}${text.slice(random.below(text.length + 1))}`;
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function rebuilt(value: unknown, entries: readonly (readonly [string, unknown])[]): unknown {
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** Returns the text with some of its bytes changed, removed or duplicated. */
export function mutateBytes(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.below(20));
  switch (random.below(3)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), anyBytes(random, 4), bytes.subarray(end)]);
  }
}

export function anyBytes(random: Random, most: number): Buffer {
  return Buffer.from(Array.from({ length: random.below(most + 1) }, () => random.below(256)));
}
