import type { Random } from './random.ts';

const strange: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  '',
  ' ',
  '/',
  '../..',
  'ü\u0000\ud800',
  '\u202e',
  'a'.repeat(300),
  '1Gi',
  '-5',
  '1e999',
  '9'.repeat(40),
  '$(id)`id`;id',
  'ünïcödé ☃ 𝒳',
  'x'.repeat(5000),
  'null',
  'vm-',
  'disk-x',
  'east:disk-1',
  '10.0.0.0/8',
  '\n\r\t"\\',
  -0,
  -(2 ** 63),
  1e-9,
  '2030-01-01T00:00:00Z',
  '2030-99-99T00:00:00Z',
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: [] } } },
  { $patch: 'delete' },
  { $patch: 'nonsense' },
  { name: null },
  [{ name: 'a' }, { name: 'a' }],
];
const keys = [
  '__proto__',
  'constructor',
  'toString',
  'metadata',
  'spec',
  'status',
  'name',
  '$patch',
  '$retainKeys',
  '',
  'ü',
  'x'.repeat(300),
];

/** Returns a copy of a JSON value with one or two changes anywhere in it. */
export function mutate(random: Random, value: unknown): unknown {
  let mutated = structuredClone(value);
  for (let remaining = 1 + random.below(2); remaining > 0; remaining -= 1)
    mutated = change(random, mutated, 0);
  return mutated;
}

/** Changes mostly a nested value and seldom this one, so the root itself is rarely replaced. */
function change(random: Random, value: unknown, depth: number): unknown {
  if (depth > 0 && random.once(24)) return random.oneOf<unknown>([[value], { a: value }]);
  if (typeof value !== 'object' || value === null)
    return random.once(3) ? random.oneOf(strange) : near(random, value);
  if (depth > 0 && random.once(12)) return random.oneOf(strange);
  return Array.isArray(value) ? changeList(random, value, depth) : changeRecord(random, value, depth);
}

function changeList(random: Random, list: readonly unknown[], depth: number): unknown {
  const index = random.below(list.length + 1);
  if (list.length === 0 || random.once(6)) return list.toSpliced(index, 0, random.oneOf(strange));
  const at = random.below(list.length);
  if (random.once(6)) return list.toSpliced(at, 1);
  if (random.once(6)) return list.toSpliced(index, 0, list[at]);
  return list.with(at, change(random, list[at], depth + 1));
}

function changeRecord(random: Random, record: object, depth: number): unknown {
  const entries = Object.entries(record);
  if (entries.length === 0 || random.once(8)) {
    return Object.fromEntries([...entries, [random.oneOf(keys), random.oneOf(strange)]]);
  }
  const at = random.below(entries.length);
  const [key, value] = entries[at] ?? ['', undefined];
  if (random.once(8)) return Object.fromEntries(entries.toSpliced(at, 1));
  if (random.once(24)) return Object.fromEntries(entries.toReversed());
  if (random.once(16)) return Object.fromEntries(entries.with(at, [random.oneOf(keys), value]));
  return Object.fromEntries(entries.with(at, [key, change(random, value, depth + 1)]));
}

/** Returns another value of the same type. */
function near(random: Random, value: unknown): unknown {
  if (typeof value === 'number') return value + random.oneOf([1, -1, 1000, -1000]);
  if (typeof value === 'boolean') return !value;
  if (typeof value !== 'string') return value;
  const at = random.below(value.length + 1);
  return (
    value.slice(0, at) +
    random.oneOf(['', 'a', '-', '.', '/', 'A', '\n', '0']) +
    value.slice(at + random.below(2))
  );
}

/** Returns JSON text that is slightly wrong or has a duplicate member. */
export function spoil(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + random.oneOf(['}', '"', ',', '\\', '\u0000', '{"a":', '[']) + text.slice(at);
    case 2:
      return text.replace('{', `{"metadata":{"name":"twice"},`);
    default:
      return '['.repeat(1 + random.below(500)) + text;
  }
}

/** Returns any JSON value. */
export function anyValue(random: Random, depth = 3): unknown {
  switch (random.below(depth > 0 ? 5 : 3)) {
    case 0:
      return random.below(1_000_000);
    case 1:
    case 2:
      return random.oneOf(strange);
    case 3:
      return Array.from({ length: random.below(4) }, () => anyValue(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.oneOf(keys), anyValue(random, depth - 1)]),
      );
  }
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

export function anyBytes(random: Random, max: number): Buffer {
  return Buffer.from(Array.from({ length: random.below(max + 1) }, () => random.below(256)));
}
