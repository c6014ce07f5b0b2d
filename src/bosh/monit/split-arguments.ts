/**
 * Splits the text of a `start program "…"` into arguments by monit's rules (monit: src/l.l, ARGUMENT_COND),
 * not by a shell's. White space separates arguments. A single-quoted part is one argument without its quotes.
 * If a bare word at the same position is longer (`'a'b`), the word is used, including its quotes. Nothing is
 * expanded. Returns undefined for an unmatched single quote at the beginning of an argument.
 */
export function splitArguments(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let index = 0;
  while (index < text.length) {
    const rest = text.slice(index);
    const blank = /^[ \t\r\n]+/.exec(rest);
    if (blank !== null) {
      index += blank[0].length;
      continue;
    }
    const quoted = /^'([^']*)'/.exec(rest);
    const word = /^[^ \t\r\n"]+/.exec(rest)?.[0] ?? '';
    if (quoted !== null && quoted[0].length >= word.length) {
      parts.push(quoted[1] ?? '');
      index += quoted[0].length;
      continue;
    }
    if (word === "'" || word === '') return undefined;
    parts.push(word);
    index += word.length;
  }
  return parts;
}
