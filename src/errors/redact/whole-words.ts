/**
 * Truncates a text to at most that length, at a word boundary. Half a token would hide it from the redactor,
 * which looks for whole secrets. A text without a space is replaced by a note.
 */
export function truncateAtWord(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length + 1);
  const words = cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)).trimEnd();
  return words === '' ? `(${text.length} characters without a space left out)` : words;
}

/** Drops the first word of a text whose beginning was cut off, perhaps within that word. */
export function dropFirstWord(text: string): string {
  const blank = text.search(/\s/u);
  return blank < 0 ? '' : text.slice(blank + 1);
}
