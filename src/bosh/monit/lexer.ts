/** A word, a quoted text or one punctuation mark of a monit file, with its position (from 1). */
export interface Token {
  readonly kind: 'word' | 'text' | 'mark';
  /** The word, the text between the quotes, or the mark. */
  readonly value: string;
  readonly quote: '"' | "'" | undefined;
  /** True if there is a comma before the token. Only lists of names use this. */
  readonly afterComma: boolean;
  readonly line: number;
  readonly column: number;
}

/** The position and cause of a syntax error in a monit file. */
export interface LexicalError {
  readonly line: number;
  readonly column: number;
  readonly cause: string;
}

type Read = { readonly token: Pick<Token, 'kind' | 'value' | 'quote'>; readonly length: number };

// monit's own sets (monit: src/l.l): white space between tokens, and the characters that end a bare word.
const space = /[ \r\t\n;,()]/;
const wordEndMark = /[!@:{}"';(),%]/;
const isWordEnd = (character: string): boolean => character <= ' ' || wordEndMark.test(character);
// This is one token in monit. Parentheses are white space in any other context.
const loadAverage = /loadavg[ ]*\([ ]*(1|5|15)[ ]*(?:m|min)?[ ]*\)/iy;
// A mail format is free text in braces and may contain quotes.
const mailFormat = /mail-format[ \r\t\n]*\{[^}]*\}/iy;

/** Splits a monit file into tokens. Comments run from a `#` at a token's start to the end of the line. */
export function tokenize(source: string): readonly Token[] | LexicalError {
  const tokens: Token[] = [];
  const position = new Position(source);
  let afterComma = false;
  while (position.index < source.length) {
    const character = source[position.index] ?? '';
    if (space.test(character) || character === '\\') {
      afterComma ||= character === ',';
      position.advance(1);
    } else if (character === '#') position.advance(lengthUntil(source, position.index, '\n'));
    else {
      const { line, column } = position;
      const token = tokenAt(source, position.index);
      if (token === undefined) return { line, column, cause: `the ${character} has no closing ${character}` };
      tokens.push({ ...token.token, afterComma, line, column });
      afterComma = false;
      position.advance(token.length);
    }
  }
  return tokens;
}

function tokenAt(source: string, index: number): Read | undefined {
  const character = source[index] ?? '';
  if (character === '"' || character === "'") {
    const end = source.indexOf(character, index + 1);
    if (end < 0) return undefined;
    const value = source.slice(index + 1, end);
    return { token: { kind: 'text', value, quote: character }, length: end + 1 - index };
  }
  const whole = compoundTokenAt(source, index);
  if (whole !== undefined) return whole;
  let end = index;
  while (end < source.length && !isWordEnd(source[end] ?? '')) end++;
  if (end === index) return { token: { kind: 'mark', value: character, quote: undefined }, length: 1 };
  return { token: { kind: 'word', value: source.slice(index, end), quote: undefined }, length: end - index };
}

/** Returns a token that contains characters that would otherwise end a word. */
function compoundTokenAt(source: string, index: number): Read | undefined {
  const word = (value: string, length: number): Read => ({
    token: { kind: 'word', value, quote: undefined },
    length,
  });
  if (source.startsWith('!=', index)) return word('!=', 2);
  loadAverage.lastIndex = index;
  const load = loadAverage.exec(source);
  if (load !== null) return word(`loadavg(${load[1]}min)`, load[0].length);
  mailFormat.lastIndex = index;
  const format = mailFormat.exec(source);
  return format === null ? undefined : word('mail-format', format[0].length);
}

function lengthUntil(source: string, index: number, end: string): number {
  const found = source.indexOf(end, index);
  return (found < 0 ? source.length : found) - index;
}

class Position {
  readonly #source: string;
  index = 0;
  line = 1;
  column = 1;

  constructor(source: string) {
    this.#source = source;
  }

  advance(length: number): void {
    for (const character of this.#source.slice(this.index, this.index + length)) {
      if (character === '\n') {
        this.line++;
        this.column = 1;
      } else this.column++;
    }
    this.index += length;
  }
}
