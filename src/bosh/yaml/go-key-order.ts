import { codePoints } from './go-scalar-text.ts';
import type { ScalarNode, ScalarValue } from './yaml-node.ts';

/**
 * Compares map keys in the order of go yaml.v2 (sorter.go): numbers and booleans by value, then strings in
 * natural order, in which digits count as numbers and letters come after all other characters.
 */
export function compareGoKeys({ value: a }: ScalarNode, { value: b }: ScalarNode): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(codePoints(a), codePoints(b));
  const [x, y] = [rank(a), rank(b)];
  if (x.kind !== y.kind && (x.number === undefined || y.number === undefined)) return x.kind - y.kind;
  if (x.number === undefined || y.number === undefined) return 0;
  if (x.number === y.number) return x.kind - y.kind;
  return x.number < y.number ? -1 : 1;
}

/** Returns the kind, in the order of Go's reflect.Kind. null is an invalid value there. */
function rank(value: ScalarValue): { readonly kind: number; readonly number?: number | bigint } {
  if (value === null) return { kind: 0 };
  if (typeof value === 'boolean') return { kind: 1, number: value ? 1 : 0 };
  if (typeof value === 'bigint') return { kind: 2, number: value };
  if (typeof value === 'number') return { kind: Number.isInteger(value) ? 2 : 14, number: value };
  return { kind: 24 };
}

function compareText(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a[index] === b[index]) index += 1;
  if (index === length) return a.length - b.length;
  const [x = '', y = ''] = [a[index], b[index]];
  const [xLetter, yLetter] = [isLetter(x), isLetter(y)];
  if (xLetter && yLetter) return codePoint(x) - codePoint(y);
  if (xLetter || yLetter) return yLetter ? -1 : 1;
  return compareNumbers(a, b, index) || codePoint(x) - codePoint(y);
}

/** Compares the digits from the first difference on, as numbers, and then their count. */
function compareNumbers(a: readonly string[], b: readonly string[], start: number): number {
  const prefix = (a[start] === '0' || b[start] === '0') && afterNonZeroDigit(a, start) ? '1' : '';
  const [x, y] = [digitsFrom(a, start), digitsFrom(b, start)];
  const difference = BigInt(`0${prefix}${x}`) - BigInt(`0${prefix}${y}`);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return x.length - y.length;
}

function afterNonZeroDigit(text: readonly string[], index: number): boolean {
  for (let at = index - 1; at >= 0 && isDigit(text[at]); at -= 1) if (text[at] !== '0') return true;
  return false;
}

function digitsFrom(text: readonly string[], start: number): string {
  let end = start;
  while (isDigit(text[end])) end += 1;
  return text.slice(start, end).join('');
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && /^[0-9]$/.test(char);
}

function isLetter(char: string): boolean {
  return /^\p{L}$/u.test(char);
}

function codePoint(char: string): number {
  return char.codePointAt(0) ?? 0;
}
