/**
 * A text as one word of a POSIX shell: as it is where no character in it means anything there, else in single
 * quotes.
 */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
