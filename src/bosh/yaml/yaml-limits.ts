import { Lexer } from 'yaml';
import { archiveLimits } from '../archive/archive-limits.ts';

/** A manifest of 700 KB has about 150,000. */
const maxTokens = 1_000_000;
/** A stack holds no more than some hundreds of a parser's frames with certainty. */
export const maxNesting = 200;

/**
 * Why a text is not parsed as YAML; undefined where it can be. The time and stack that the library `yaml` takes for a text are those
 * of its tokens and nesting, which its lexer finds without either.
 */
export function exceedsYamlLimits(text: string): string | undefined {
  if (text.length > archiveLimits.manifest) return tooLarge;
  let [tokens, flow, block] = [0, 0, 0];
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > maxTokens) return `it has more than ${maxTokens} parts`;
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    // of a line: maps and lists that begin on lines of their own take as many blanks as they are deep
    else if (token === '\n') block = 0;
    else if (flow === 0 && (token === '-' || token === '?' || token === ':')) block += 1;
    if (flow > maxNesting || block > maxNesting) return tooDeep;
  }
  return undefined;
}

export const tooDeep = `it is nested more than ${maxNesting} levels deep`;
export const tooLarge = `it is larger than ${archiveLimits.manifest / 1024 / 1024} MiB`;
