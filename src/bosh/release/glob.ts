import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { byBytes } from '../archive/pack-archive.ts';

/**
 * The files below `root` (links too, folders not) that a release's `files` pattern names, as sorted paths relative to it.
 * The patterns are upstream's (doublestar 1.x as bosh-cli uses it): `*`, `?`, `[a-z]`, `[^a]`, `{a,b}`, `**` for any
 * number of folders, `\` before a character taken literally; dot files match. What lies behind a linked folder does not
 * belong to a release. Nothing when there is no such folder.
 */
export async function globFiles(root: string, pattern: string): Promise<readonly string[]> {
  const found = new Set<string>();
  const start = await realpath(root).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (start === undefined) return [];
  for (const alternative of expandAlternatives(pattern)) {
    const components = alternative.split('/').filter((part) => part !== '' && part !== '.');
    await walk(start, '', components.map(parseComponent), found);
  }
  return [...found].toSorted(byBytes);
}

type Component = { readonly kind: 'any-depth' } | { readonly kind: 'name'; readonly pattern: RegExp };

async function walk(root: string, folder: string, pattern: readonly Component[], found: Set<string>): Promise<void> {
  const [first, ...rest] = pattern;
  if (first === undefined) return;
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (first.kind === 'any-depth') {
      if (entry.isDirectory()) await walk(root, path, pattern, found);
      else if (rest.length === 0) found.add(path);
    } else if (first.pattern.test(entry.name)) {
      if (entry.isDirectory()) await walk(root, path, rest, found);
      else if (rest.length === 0) found.add(path);
    }
  }
  if (first.kind === 'any-depth' && rest.length > 0) await walk(root, folder, rest, found);
}

function parseComponent(text: string): Component {
  if (text === '**') return { kind: 'any-depth' };
  return { kind: 'name', pattern: new RegExp(`^${[...tokens(text)].map(toRegExp).join('')}$`, 'su') };
}

/** Single characters, escaped ones with their backslash, and whole character classes. */
function tokens(text: string): Iterable<string> {
  return text.match(/\\.|\[\^?(?:\\.|[^\]\\])+\]|./gsu) ?? [];
}

function toRegExp(token: string): string {
  if (token === '*') return '[^/]*';
  if (token === '?') return '[^/]';
  if (token.length > 1 && token.startsWith('[')) {
    const negated = token.startsWith('[^');
    const content = token.slice(negated ? 2 : 1, -1).replaceAll(/\\(.)/gsu, '\\$1');
    return `[${negated ? '^' : ''}${content.replaceAll('[', '\\[')}]`;
  }
  return escape(token.startsWith('\\') && token.length > 1 ? token.slice(1) : token);
}

function escape(char: string): string {
  return /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}

/** `a{b,c}d` is `abd` and `acd`; alternatives nest and may hold slashes. */
export function expandAlternatives(pattern: string): readonly string[] {
  const open = findUnescaped(pattern, 0, '{');
  if (open === -1) return [pattern];
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
    return parts.flatMap((part) => expandAlternatives(`${before}${part}${after}`));
  }
  return [pattern];
}

function findUnescaped(text: string, from: number, wanted: string): number {
  for (let index = from; index < text.length; index += text[index] === '\\' ? 2 : 1) {
    if (text[index] === wanted) return index;
  }
  return -1;
}
