/**
 * Joins the test names of one loop into as few lines as possible: the common text once, with the variants in
 * parentheses where they differ, for example "a disk of class (loop, loop-wait): grows".
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

/** `loop-wait` is one word. The text between words also counts as a word. */
const wordsOf = (name: string): string[] => name.match(/[\p{L}\p{N}_-]+|\s+|[^\p{L}\p{N}_\-\s]/gu) ?? [];

function commonLength([first = [], ...others]: readonly (readonly string[])[]): number {
  const differs = first.findIndex((word, index) => others.some((other) => other[index] !== word));
  return differs < 0 ? first.length : differs;
}

/** The alternatives for each part of a variant. */
type Row = readonly (readonly string[])[];

/**
 * Joins variants of several parts such as `ours, hot`, which come from nested loops: each part is joined
 * separately if all combinations exist.
 */
function alternatives(variants: readonly string[]): string {
  const parts = variants.map((variant) => variant.split(', '));
  const length = parts[0]?.length ?? 0;
  if (parts.some((each) => each.length !== length)) return `(${variants.join('; ')})`;
  let rows: Row[] = parts.map((each) => each.map((part) => [part]));
  for (let place = 0; place < length; place += 1) rows = joinedAt(rows, place);
  return rows.map((row) => row.map(shown).join(', ')).join('; ');
}

/** Merges rows that differ only at that position. */
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
