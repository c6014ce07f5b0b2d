import { methods } from './rule-expression.ts';
import type { binaryOperators, Expression } from './rule-expression.ts';

const token =
  /\s*(?:(?<number>\d+(?:\.\d+)?)|(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<word>[A-Za-z_]\w*)|(?<mark>\|\||&&|==|!=|<=|>=|[<>!().,[\]]))/y;

/** From weakest to strongest. */
const levels: readonly (readonly (typeof binaryOperators)[number][])[] = [
  ['||'],
  ['&&'],
  ['==', '!=', '<=', '>=', '<', '>', 'in'],
];

/** The expression of a rule; undefined for what this server does not know of CEL. */
export function parseRule(text: string): Expression | undefined {
  const words = tokens(text);
  if (words === undefined) return undefined;
  const reader = new Reader(words);
  const expression = readLevel(reader, 0);
  return reader.atEnd ? expression : undefined;
}

/** Bounds the depth of an expression too. */
const longestRule = 2000;

function tokens(text: string): string[] | undefined {
  if (text.length > longestRule) return undefined;
  const found: string[] = [];
  const trimmed = text.trimEnd();
  token.lastIndex = 0;
  while (token.lastIndex < trimmed.length) {
    const match = token.exec(trimmed);
    if (match === null) return undefined;
    found.push(match[0].trim());
  }
  return found;
}

/** A position in the words of a rule. */
class Reader {
  readonly #words: readonly string[];
  #at = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  get atEnd(): boolean {
    return this.#at === this.#words.length;
  }

  get next(): string {
    return this.#words[this.#at] ?? '';
  }

  take(): string {
    const word = this.next;
    this.#at += 1;
    return word;
  }

  takeIf(word: string): boolean {
    if (this.next !== word) return false;
    this.#at += 1;
    return true;
  }
}

function readLevel(reader: Reader, level: number): Expression | undefined {
  const operators = levels[level];
  if (operators === undefined) return readUnary(reader);
  let left = readLevel(reader, level + 1);
  for (;;) {
    const operator = operators.find((one) => one === reader.next);
    if (operator === undefined || left === undefined) return left;
    reader.take();
    const right = readLevel(reader, level + 1);
    if (right === undefined) return undefined;
    left = { is: 'binary', operator, left, right };
  }
}

function readUnary(reader: Reader): Expression | undefined {
  if (!reader.takeIf('!')) return readMembers(reader, readPrimary(reader));
  const of = readUnary(reader);
  return of === undefined ? undefined : { is: 'not', of };
}

function readMembers(reader: Reader, of: Expression | undefined): Expression | undefined {
  if (of === undefined || !reader.takeIf('.')) return of;
  const word = reader.take();
  if (!/^[A-Za-z_]\w*$/.test(word)) return undefined;
  if (!reader.takeIf('(')) {
    // __namespace__ stands for a key that is a word of the language
    return readMembers(reader, { is: 'member', of, key: word.replace(/^__(\w+)__$/, '$1') });
  }
  const name = methods.find((method) => method === word);
  const argument = readLevel(reader, 0);
  if (name === undefined || argument === undefined || !reader.takeIf(')')) return undefined;
  return readMembers(reader, { is: 'method', name, of, argument });
}

function readPrimary(reader: Reader): Expression | undefined {
  const word = reader.take();
  switch (word) {
    case '(': {
      const inner = readLevel(reader, 0);
      return reader.takeIf(')') ? inner : undefined;
    }
    case '[':
      return readList(reader);
    case 'true':
    case 'false':
      return { is: 'value', value: word === 'true' };
    case 'null':
      return { is: 'value', value: null };
    case 'self':
    case 'oldSelf':
      return { is: 'name', name: word };
    case 'has':
    case 'size':
      return readCall(reader, word);
    default:
      return readLiteral(word);
  }
}

function readCall(reader: Reader, is: 'has' | 'size'): Expression | undefined {
  if (!reader.takeIf('(')) return undefined;
  const of = readLevel(reader, 0);
  if (of === undefined || !reader.takeIf(')')) return undefined;
  return is === 'has' && of.is !== 'member' ? undefined : { is, of };
}

function readList(reader: Reader): Expression | undefined {
  const items: Expression[] = [];
  while (!reader.takeIf(']')) {
    const item = readLevel(reader, 0);
    if (item === undefined) return undefined;
    items.push(item);
    if (!reader.takeIf(',') && reader.next !== ']') return undefined;
  }
  return { is: 'list', items };
}

function readLiteral(word: string): Expression | undefined {
  if (/^\d/.test(word)) return { is: 'value', value: Number(word) };
  if (!/^["']/.test(word)) return undefined;
  const inner = word.slice(1, -1);
  // escapes other than those of quotes and backslashes are not known here
  if (/\\[^"'\\]/.test(inner)) return undefined;
  return { is: 'value', value: inner.replaceAll(/\\(.)/g, '$1') };
}
