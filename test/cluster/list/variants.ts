/**
 * The names that one loop gives its tests, in as few lines as tell them all: what they have in common once, and in the place
 * where they differ the variants, as in "a disk of class (loop, loop-wait): grows". Pure.
 */
export function joinVariants(names: readonly string[]): readonly string[] {
  if (names.length < 2) return names;
  const words = names.map(wordsOf);
  const before = commonLength(words);
  const rest = words.map((each) => each.slice(before));
  const after = commonLength(rest.map((each) => each.toReversed()));
  const variants = rest.map((each) => each.slice(0, each.length - after).join(''));
  if (before + after === 0 || variants.includes('')) return names;
  const [first = []] = words;
  const begin = first.slice(0, before).join('');
  const end = first.slice(first.length - after).join('');
  return [`${begin}${alternatives(variants)}${end}`];
}

/** `loop-wait` is one word; what stands between words is one, too. */
const wordsOf = (name: string): string[] => name.match(/[\p{L}\p{N}_-]+|\s+|[^\p{L}\p{N}_\-\s]/gu) ?? [];

function commonLength([first = [], ...others]: readonly (readonly string[])[]): number {
  const differs = first.findIndex((word, index) => others.some((other) => other[index] !== word));
  return differs < 0 ? first.length : differs;
}

/** Per part of a variant, what it may be. */
type Row = readonly (readonly string[])[];

/** Variants of several parts, `ours, hot`, come from loops in loops: each part is joined for itself where all of them are there. */
function alternatives(variants: readonly string[]): string {
  const parts = variants.map((variant) => variant.split(', '));
  const length = parts[0]?.length ?? 0;
  if (parts.some((each) => each.length !== length)) return `(${variants.join('; ')})`;
  let rows: Row[] = parts.map((each) => each.map((part) => [part]));
  for (let place = 0; place < length; place += 1) rows = joinedAt(rows, place);
  return rows.map((row) => row.map(shown).join(', ')).join('; ');
}

/** Rows that differ in that place alone become one. */
function joinedAt(rows: readonly Row[], place: number): Row[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify(row.with(place, [])));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined
      ? []
      : [first.with(place, [...new Set(group.flatMap((row) => row[place] ?? []))])];
  });
}

const shown = (choices: readonly string[]): string =>
  choices.length === 1 ? (choices[0] ?? '') : `(${choices.join(', ')})`;
