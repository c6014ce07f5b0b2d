import { type ErrorCode, isMap, isScalar, isSeq, Lexer } from 'yaml';
import { archiveLimits } from '../archive/archive-limits.ts';

const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag of its own',
  BAD_ALIAS: 'an anchor or alias has no name, or one that ends in a colon',
  BAD_COLLECTION_TYPE: 'a tag does not match the kind of its value',
  BAD_DIRECTIVE: 'a line that begins with % is not a valid directive; quote the text',
  BAD_DQ_ESCAPE:
    'a backslash in double quotes does not begin a valid escape; double it, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines before, or a bracket or quotation mark is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag must follow - ? or :',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " in one line; put the text in quotes',
  BLOCK_IN_FLOW: 'a block list or map cannot be inside brackets',
  DUPLICATE_KEY: 'Map keys must be unique',
  IMPOSSIBLE: 'this cannot be read as YAML',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MISSING_CHAR: 'a character is missing: a colon, a comma, a space, a bracket or a closing quotation mark',
  MULTILINE_IMPLICIT_KEY:
    'a key has to be on one line; a colon after it may be missing, or the indentation of the next line is wrong',
  MULTIPLE_ANCHORS: 'one value has two anchors',
  MULTIPLE_DOCS: 'there is more than one document',
  MULTIPLE_TAGS: 'one value has two tags',
  NON_STRING_KEY: 'a key must be text',
  RESOURCE_EXHAUSTION: 'it nests too deep',
  TAB_AS_INDENT: 'Tabs are not allowed as indentation; use spaces',
  TAG_RESOLVE_FAILED:
    'a tag is not known, or its value does not match it; put a text that begins with ! in quotes',
  UNEXPECTED_TOKEN: 'this character is not valid here; put a text that contains it in quotes',
};

/**
 * Describes a YAML error by the parser's error code. The parser's own message quotes the text, which may be a
 * secret.
 */
export function describeYamlError({ code }: { readonly code: ErrorCode }): string {
  return sentences[code];
}

/**
 * Returns the offsets of duplicate scalar keys within a map, in order, for a document of the library `yaml`
 * that was parsed with `uniqueKeys: false`. The library's own check compares each key with all previous ones:
 * 20,000 keys take minutes.
 */
export function duplicateKeys(contents: unknown): readonly number[] {
  const found: number[] = [];
  const pending: unknown[] = [contents];
  while (pending.length > 0) {
    const node = pending.pop();
    if (isSeq(node)) for (const item of node.items) pending.push(item);
    if (!isMap(node)) continue;
    const keys = new Set<unknown>();
    for (const { key, value } of node.items) {
      pending.push(key, value);
      if (!isScalar(key)) continue;
      if (keys.has(key.value)) found.push(key.range?.[0] ?? 0);
      keys.add(key.value);
    }
  }
  return found.toSorted((one, other) => one - other);
}

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
