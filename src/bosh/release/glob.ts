import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { compareBytes } from '../archive/pack-archive.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';

/** Braces can expand a pattern of a few hundred characters beyond any memory. */
const maxAlternatives = 10_000;
/** The limit for all alternatives together. */
const maxCharacters = 1_000_000;

/**
 * Returns the files below `root` (links included, directories not) that match a release's `files` pattern, as
 * sorted paths relative to `root`. The syntax is upstream's (doublestar 1.x as bosh-cli uses it): `*`, `?`,
 * `[a-z]`, `[^a]`, `{a,b}`, `**` for any number of directories, `\` for a literal character. Dot files match.
 * Does not enter linked directories, because their content is not part of a release. Returns nothing if
 * `root` does not exist. Reads each directory at most once for each part of the pattern. Throws INTERRUPTED
 * once the signal is aborted.
 */
export async function globFiles(root: string, pattern: string, signal?: AbortSignal): Promise<readonly string[]> {
  const found = new Set<string>();
  const start = await realpath(root).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (start === undefined) return [];
  for (const alternative of expandAlternatives(pattern)) {
    const components = alternative.split('/').filter((part) => part !== '' && part !== '.');
    await walk({ root: start, pattern: folded(components), found, seen: new Set(), signal }, '', 0);
  }
  return [...found].toSorted(compareBytes);
}

type Component = { readonly kind: 'any-depth' } | { readonly kind: 'name'; readonly tokens: readonly Token[] };

/** Any number of characters, or a test for one character. */
type Token = 'any' | ((char: string) => boolean);

interface Walk {
  readonly root: string;
  readonly pattern: readonly Component[];
  readonly found: Set<string>;
  /** Directories, each with the part of the pattern that has been matched in it. */
  readonly seen: Set<string>;
  readonly signal: AbortSignal | undefined;
}

/** Replaces consecutive `**` by one. */
function folded(components: readonly string[]): readonly Component[] {
  return components.filter((part, index) => part !== '**' || components[index - 1] !== '**').map(parseComponent);
}

async function walk(state: Walk, directory: string, at: number): Promise<void> {
  const { root, pattern, found, seen } = state;
  const first = pattern[at];
  const key = `${at} ${directory}`;
  if (first === undefined || seen.has(key)) return;
  seen.add(key);
  throwIfInterrupted(state.signal);
  const isLast = at === pattern.length - 1;
  const entries = await readdir(join(root, directory), { withFileTypes: true });
  for (const entry of entries) {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (first.kind === 'any-depth') {
      if (entry.isDirectory()) await walk(state, path, at);
      else if (isLast) found.add(path);
    } else if (matches(first.tokens, entry.name)) {
      if (entry.isDirectory()) await walk(state, path, at + 1);
      else if (isLast) found.add(path);
    }
  }
  if (first.kind === 'any-depth' && !isLast) await walk(state, directory, at + 1);
}

function parseComponent(text: string): Component {
  if (text === '**') return { kind: 'any-depth' };
  return { kind: 'name', tokens: parseName(text) };
}

/**
 * Matches a name by backtracking only to the last `*`. A regular expression takes exponential time for a
 * pattern with many of them.
 */
function matches(pattern: readonly Token[], name: string): boolean {
  const chars = Array.from(name);
  let at = 0;
  let star: { readonly at: number; from: number } | undefined;
  for (let index = 0; index < chars.length; ) {
    const token = pattern[at];
    if (token === 'any') {
      star = { at, from: index };
      at += 1;
    } else if (token?.(chars[index] ?? '') === true) {
      at += 1;
      index += 1;
    } else if (star !== undefined) {
      star.from += 1;
      index = star.from;
      at = star.at + 1;
    } else return false;
  }
  return pattern.slice(at).every((token) => token === 'any');
}

/** Parses one component of a path. An unclosed `[` is a literal character. */
function parseName(text: string): readonly Token[] {
  const chars = Array.from(text);
  const parsed: Token[] = [];
  let isUnclosed = false;
  for (let at = 0; at < chars.length; ) {
    const end = chars[at] === '[' && !isUnclosed ? closingOf(chars, at + 1) : at;
    if (end === -1) isUnclosed = true;
    if (end > at + 1) {
      parsed.push(classToken(chars.slice(at + 1, end)));
      at = end + 1;
      continue;
    }
    const isEscape = chars[at] === '\\' && at + 1 < chars.length;
    parsed.push(isEscape ? literal(chars[at + 1] ?? '') : charToken(chars[at] ?? ''));
    at += isEscape ? 2 : 1;
  }
  return parsed;
}

function closingOf(chars: readonly string[], from: number): number {
  for (let index = from; index < chars.length; index += chars[index] === '\\' ? 2 : 1)
    if (chars[index] === ']') return index;
  return -1;
}

function charToken(char: string): Token {
  if (char === '*') return 'any';
  return char === '?' ? () => true : literal(char);
}

const literal =
  (character: string): Token =>
  (char) =>
    char === character;

/**
 * Parses the text between the brackets: characters and ranges, negated by a leading `^`. A backslash makes
 * the next character literal.
 */
function classToken(content: readonly string[]): Token {
  const isNegated = content[0] === '^';
  const ranges: (readonly [number, number])[] = [];
  let at = isNegated ? 1 : 0;
  const next = (): number => {
    if (content[at] === '\\' && at + 1 < content.length) at += 1;
    at += 1;
    return codeOf(content[at - 1] ?? '');
  };
  while (at < content.length) {
    const first = next();
    const isRange = content[at] === '-' && at + 1 < content.length;
    if (isRange) at += 1;
    ranges.push([first, isRange ? next() : first]);
  }
  return (char) => ranges.some(([low, high]) => low <= codeOf(char) && codeOf(char) <= high) !== isNegated;
}

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

/**
 * Expands `a{b,c}d` to `abd` and `acd`. Alternatives can be nested and can contain slashes. Throws
 * RELEASE_INVALID if there are too many.
 */
export function expandAlternatives(pattern: string): readonly string[] {
  const done: string[] = [];
  const waiting = [pattern];
  let characters = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    characters += next.length;
    const unfolded = unfoldFirst(next);
    if (unfolded === undefined) done.push(next);
    else waiting.push(...unfolded.toReversed());
    if (done.length + waiting.length > maxAlternatives || characters > maxCharacters)
      throw new ProductError(
        'RELEASE_INVALID',
        `The pattern '${pattern.slice(0, 200)}' expands to more than ${maxAlternatives} patterns, or more than ${maxCharacters} characters in total; ` +
          'write fewer braces',
      );
  }
  return done;
}

/** Expands the first pair of braces. Returns undefined if there is none. */
function unfoldFirst(pattern: string): readonly string[] | undefined {
  const open = findUnescaped(pattern, 0, '{');
  if (open === -1) return undefined;
  const parts: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let index = open; index < pattern.length; index += pattern[index] === '\\' ? 2 : 1) {
    const char = pattern[index];
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if (depth === 0 || (depth === 1 && char === ',')) {
      parts.push(pattern.slice(start, index));
      start = index + 1;
    }
    if (depth > 0) continue;
    const [before, after] = [pattern.slice(0, open), pattern.slice(index + 1)];
    return parts.map((part) => `${before}${part}${after}`);
  }
  return undefined;
}

function findUnescaped(text: string, from: number, character: string): number {
  for (let index = from; index < text.length; index += text[index] === '\\' ? 2 : 1) {
    if (text[index] === character) return index;
  }
  return -1;
}
