import { Lexer } from 'yaml';
import { archiveLimits } from '../archive/archive-limits.ts';

/** For comparison: a manifest of 700 KB has about 150,000 tokens. */
const maxTokens = 1_000_000;
/** The parser is recursive. Deeper nesting may overflow the stack. */
export const maxNesting = 200;

/**
 * Returns why a text is not parsed as YAML, or undefined if it can be parsed. The time and stack that the
 * library `yaml` needs depend on the tokens and the nesting of the text. Its lexer finds these quickly and
 * without recursion.
 */
export function exceedsYamlLimits(text: string): string | undefined {
  if (text.length > archiveLimits.manifest) return tooLarge;
  let [tokens, flow, block] = [0, 0, 0];
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > maxTokens) return `it has more than ${maxTokens} parts`;
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    // Counts only within a line: a nested map or list on a line of its own needs as many blanks as it is
    // deep.
    else if (token === '\n') block = 0;
    else if (flow === 0 && (token === '-' || token === '?' || token === ':')) block += 1;
    if (flow > maxNesting || block > maxNesting) return tooDeep;
  }
  return undefined;
}

export const tooDeep = `it is nested more than ${maxNesting} levels deep`;
export const tooLarge = `it is larger than ${archiveLimits.manifest / 1024 / 1024} MiB`;
