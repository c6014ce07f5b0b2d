/**
 * Splits the text of a `start program "…"` into arguments by monit's rules (monit: src/l.l, ARGUMENT_COND), not a
 * shell's: white space separates, a single-quoted part is one argument without its quotes, and where a bare word
 * is the longer match from the same place (`'a'b`) the word wins, quotes and all. Nothing is expanded.
 * Answers undefined for a lone single quote.
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
