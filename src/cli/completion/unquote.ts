/**
 * Returns the value of a word as bash reads it, without expansions. A word that is not complete may end
 * within quotes.
 */
export function unquote(word: string): string {
  return word.replaceAll(
    /'([^']*)(?:'|$)|"((?:[^"\\]|\\[^])*)(?:"|$)|\\([^]?)/gu,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/gu, '$1') ?? escaped ?? '',
  );
}
