/**
 * The beginning of a text, of at most that length: half a token at its end would be known to no one that looks for the whole.
 * Of a text without a space that is nothing, which it says.
 */
export function truncateAtWord(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length + 1);
  const words = cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)).trimEnd();
  return words === '' ? `(${text.length} characters without a space left out)` : words;
}

/** A text whose beginning was dropped, perhaps within a word, without what is left of that word. */
export function dropFirstWord(text: string): string {
  const blank = text.search(/\s/u);
  return blank < 0 ? '' : text.slice(blank + 1);
}
