import type { Chance } from './seeded.ts';

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
export function mutate(chance: Chance, value: unknown): unknown {
  let mutated = structuredClone(value);
  for (let left = 1 + chance.below(2); left > 0; left -= 1) mutated = change(chance, mutated, 0);
  return mutated;
}

/** Changes mostly a nested value and seldom this one, so the root itself is rarely replaced. */
function change(chance: Chance, value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null)
    return chance.once(3) ? chance.pick(strange) : near(chance, value);
  if (depth > 0 && chance.once(12)) return chance.pick(strange);
  return Array.isArray(value) ? changeList(chance, value, depth) : changeRecord(chance, value, depth);
}

function changeList(chance: Chance, list: readonly unknown[], depth: number): unknown {
  const index = chance.below(list.length + 1);
  if (list.length === 0 || chance.once(6)) return list.toSpliced(index, 0, chance.pick(strange));
  const at = chance.below(list.length);
  if (chance.once(6)) return list.toSpliced(at, 1);
  if (chance.once(6)) return list.toSpliced(index, 0, list[at]);
  return list.with(at, change(chance, list[at], depth + 1));
}

function changeRecord(chance: Chance, record: object, depth: number): unknown {
  const entries = Object.entries(record);
  if (entries.length === 0 || chance.once(8)) {
    return Object.fromEntries([...entries, [chance.pick(keys), chance.pick(strange)]]);
  }
  const at = chance.below(entries.length);
  const [key, value] = entries[at] ?? ['', undefined];
  if (chance.once(8)) return Object.fromEntries(entries.toSpliced(at, 1));
  if (chance.once(16)) return Object.fromEntries(entries.with(at, [chance.pick(keys), value]));
  return Object.fromEntries(entries.with(at, [key, change(chance, value, depth + 1)]));
}

/** Returns another value of the same type. */
function near(chance: Chance, value: unknown): unknown {
  if (typeof value === 'number') return value + chance.pick([1, -1, 1000, -1000]);
  if (typeof value === 'boolean') return !value;
  if (typeof value !== 'string') return value;
  const at = chance.below(value.length + 1);
  return (
    value.slice(0, at) +
    chance.pick(['', 'a', '-', '.', '/', 'A', '\n', '0']) +
    value.slice(at + chance.below(2))
  );
}

/** Returns JSON text that is slightly wrong or has a duplicate member. */
export function spoil(chance: Chance, text: string): string {
  const at = chance.below(text.length + 1);
  switch (chance.below(4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + chance.pick(['}', '"', ',', '\\', '\u0000', '{"a":', '[']) + text.slice(at);
    case 2:
      return text.replace('{', `{"metadata":{"name":"twice"},`);
    default:
      return '['.repeat(1 + chance.below(500)) + text;
  }
}
