import { ProductError } from '../../errors/product-error.ts';
import type { Token } from './lexer.ts';

// Words that monit skips at any position (monit: src/l.l).
const noise = new Set(
  'is as are for on only with within without program programs and has using use the sum than usage was times but of does'.split(
    ' ',
  ),
);
const maxNumber = 2 ** 31 - 1;

/** Reads the tokens of one monit file. Keywords are not case-sensitive, as in monit. */
export class TokenReader {
  readonly job: string;
  readonly #tokens: readonly Token[];
  readonly #lines: readonly string[];
  #index = 0;

  constructor(tokens: readonly Token[], source: string, job: string) {
    this.job = job;
    this.#tokens = tokens;
    this.#lines = source.split('\n');
  }

  /** Returns the next token that is not a noise word, or undefined at the end. */
  peek(): Token | undefined {
    while (this.#isNoise(this.#tokens[this.#index])) this.#index++;
    return this.#tokens[this.#index];
  }

  /** Returns the next token, even if it is a noise word. */
  peekRaw(): Token | undefined {
    return this.#tokens[this.#index];
  }

  is(token: Token | undefined, ...keywords: readonly string[]): boolean {
    return token?.kind === 'word' && keywords.includes(token.value.toLowerCase());
  }

  /** Skips the next token and returns true if it is one of these keywords. */
  accept(...keywords: readonly string[]): boolean {
    if (!this.is(this.peek(), ...keywords)) return false;
    this.#index++;
    return true;
  }

  /** Skips the next token and returns true if it is this punctuation mark. */
  takeMark(mark: string): boolean {
    const token = this.peek();
    if (token?.kind !== 'mark' || token.value !== mark) return false;
    this.#index++;
    return true;
  }

  /** Skips the next token. */
  skip(): void {
    this.#index++;
  }

  /** Skips the next token and returns it if it is a double-quoted text. */
  takeText(): Token | undefined {
    const token = this.peek();
    if (token?.kind !== 'text' || token.quote !== '"') return undefined;
    this.#index++;
    return token;
  }

  /**
   * Returns the value at this position, bare or quoted. A name may be a noise word. `what` names the value in
   * errors.
   */
  value(what: string): string {
    const token = this.#tokens[this.#index];
    if (token === undefined || token.kind === 'mark' || token.value === '')
      throw this.invalid(token, `missing ${what}`);
    this.#index++;
    return token.value;
  }

  /** Skips the next token and returns its value if it is a number, whole or decimal. */
  takeNumber(): number | undefined {
    const token = this.peek();
    if (token?.kind !== 'word' || !/^[0-9]+(\.[0-9]+)?$/.test(token.value)) return undefined;
    if (Number(token.value) > maxNumber) throw this.invalid(token, `the number ${token.value} is too large`);
    this.#index++;
    return Number(token.value);
  }

  /**
   * Returns the next token, which must be a whole number from `least` to `max`. `what` names it in errors.
   */
  wholeNumber(what: string, least: number, max = maxNumber): number {
    const token = this.peek();
    const number = this.takeNumber();
    if (number !== undefined && Number.isInteger(number) && number >= least && number <= max) return number;
    const range = max === maxNumber ? `from ${least} on` : `from ${least} to ${max}`;
    throw this.invalid(token, `${what} is not a whole number ${range}`);
  }

  /** Skips the next token, which must be one of these keywords. */
  expect(...keywords: readonly [string, ...string[]]): void {
    if (this.accept(...keywords)) return;
    const token = this.peek();
    const found = token === undefined ? 'the file ends' : `found '${token.value}'`;
    throw this.invalid(token, `'${keywords[0]}' is expected, but ${found}`);
  }

  /** Returns an error for a text that monit would reject as well. */
  invalid(token: Token | undefined, cause: string): ProductError {
    return new ProductError('AGENT_MONIT_INVALID', `${this.#where(token)}: ${cause}`);
  }

  /**
   * Returns an error for a clause that monit supports and the agent does not. Without a cause it quotes the
   * clause.
   */
  unsupported(token: Token, cause?: string): ProductError {
    const clause = this.#lines[token.line - 1]?.slice(token.column - 1).trim() ?? token.value;
    return new ProductError(
      'AGENT_NOT_SUPPORTED',
      `${this.#where(token)}: ${cause ?? `the agent does not support the clause '${clause}'`}: remove it from the job's monit file, or use a stemcell with upstream's agent and monit`,
    );
  }

  #where(token: Token | undefined): string {
    const at = token ?? this.#tokens.at(-1);
    return `job '${this.job}': monit line ${at?.line ?? 1}, column ${at?.column ?? 1}`;
  }

  #isNoise(token: Token | undefined): boolean {
    return token?.kind === 'word' && noise.has(token.value.toLowerCase());
  }
}
