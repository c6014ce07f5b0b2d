import { ProductError } from '../../errors/product-error.ts';
import type { Token } from './lexer.ts';

// words that monit skips wherever they stand (monit: src/l.l)
const noise = new Set(
  'is as are for on only with within without program programs and has using use the sum than usage was times but of does per in last'.split(
    ' ',
  ),
);

/** Walks the tokens of one monit file; keywords are read in any case, as monit does. */
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

  /** The next token that is no noise word, or undefined at the end. */
  peek(): Token | undefined {
    while (this.#isNoise(this.#tokens[this.#index])) this.#index++;
    return this.#tokens[this.#index];
  }

  is(token: Token | undefined, keyword: string): boolean {
    return token?.kind === 'word' && token.value.toLowerCase() === keyword;
  }

  /** Steps over the next token if it is this keyword. */
  take(keyword: string): boolean {
    if (!this.is(this.peek(), keyword)) return false;
    this.#index++;
    return true;
  }

  /** Steps over the next token if it is a double-quoted text, and answers that. */
  takeText(): Token | undefined {
    const token = this.peek();
    if (token?.kind !== 'text' || token.quote !== '"') return undefined;
    this.#index++;
    return token;
  }

  /** The value right here, bare or quoted; a name may be a noise word. `what` names it when it is missing. */
  value(what: string): string {
    const token = this.#tokens[this.#index];
    if (token === undefined || token.kind === 'mark' || token.value === '')
      throw this.invalid(token, `missing ${what}`);
    this.#index++;
    return token.value;
  }

  /** An error for what monit would not read either. */
  invalid(token: Token | undefined, cause: string): ProductError {
    return new ProductError('AGENT_MONIT_INVALID', `${this.#where(token)}: ${cause}`);
  }

  /** An error for what monit knows and this agent does not; without a cause it quotes the clause. */
  unsupported(token: Token, cause?: string): ProductError {
    const clause = this.#lines[token.line - 1]?.slice(token.column - 1).trim() ?? token.value;
    return new ProductError(
      'AGENT_NOT_SUPPORTED',
      `${this.#where(token)}: ${cause ?? `the agent does not know the clause '${clause}' yet`}: take it out of the job's monit file`,
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
