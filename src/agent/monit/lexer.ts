/** A word, a quoted text or one punctuation mark of a monit file, with where it stands (from 1). */
export interface Token {
  readonly kind: 'word' | 'text' | 'mark';
  /** The word, the text between the quotes, or the mark. */
  readonly value: string;
  readonly quote: '"' | "'" | undefined;
  readonly line: number;
  readonly column: number;
}

/** Where a monit file cannot be read. */
export interface LexicalError {
  readonly line: number;
  readonly column: number;
  readonly cause: string;
}

// monit's own sets (monit: src/l.l): white space between tokens, and what a bare word cannot hold
const space = /[ \r\t\n;,()]/;
const wordEndMark = /[!@:{}"';(),%]/;
const isWordEnd = (character: string): boolean => character <= ' ' || wordEndMark.test(character);

/** Splits a monit file into tokens. Comments run from a `#` at a token's start to the end of the line. */
export function tokenize(source: string): readonly Token[] | LexicalError {
  const tokens: Token[] = [];
  const position = new Position(source);
  while (position.index < source.length) {
    const character = source[position.index] ?? '';
    if (space.test(character) || character === '\\') position.advance(1);
    else if (character === '#') position.advance(lengthUntil(source, position.index, '\n'));
    else {
      const { line, column } = position;
      const token = tokenAt(source, position.index);
      if (token === undefined) return { line, column, cause: `the ${character} has no closing ${character}` };
      tokens.push({ ...token.token, line, column });
      position.advance(token.length);
    }
  }
  return tokens;
}

function tokenAt(
  source: string,
  index: number,
): { token: Omit<Token, 'line' | 'column'>; length: number } | undefined {
  const character = source[index] ?? '';
  if (character === '"' || character === "'") {
    const end = source.indexOf(character, index + 1);
    if (end < 0) return undefined;
    const value = source.slice(index + 1, end);
    return { token: { kind: 'text', value, quote: character }, length: end + 1 - index };
  }
  let end = index;
  while (end < source.length && !isWordEnd(source[end] ?? '')) end++;
  if (end === index) return { token: { kind: 'mark', value: character, quote: undefined }, length: 1 };
  return { token: { kind: 'word', value: source.slice(index, end), quote: undefined }, length: end - index };
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
