/**
 * The number of differences that are a typing error. In a short word, two differences make another word,
 * such as `host` and `port`.
 */
function maxDistance({ length }: string): number {
  if (length < 2) return 0;
  return length < 5 ? 1 : 2;
}

/**
 * Returns the candidate that an operator may have meant by `word`: one that begins with it, or the
 * nearest one by edit distance. Undefined if none is similar.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const begun = candidates.find((candidate) => candidate.startsWith(word));
  if (word.length > 1 && begun !== undefined) return begun;
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .toSorted((one, other) => one.distance - other.distance);
  const [first] = ranked;
  return first !== undefined && first.distance <= maxDistance(word) ? first.candidate : undefined;
}

/** Returns `; the most similar is 'candidate'`, or an empty text if none is similar. */
export function similar(word: string, candidates: readonly string[]): string {
  const candidate = nearest(word, candidates);
  return candidate === undefined ? '' : `; the most similar is '${candidate}'`;
}

/** Counts insertions, deletions, replacements, and exchanges of two neighbours (optimal string alignment). */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isExchange = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      rows[row]?.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isExchange && row > 1 && column > 1 ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(one.length, other.length);
}
