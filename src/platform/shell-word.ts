/**
 * Quotes a text as one word of a POSIX shell: unchanged if no character is special, else in single quotes.
 */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
