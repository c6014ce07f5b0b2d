import { badRequest, requestEntityTooLarge } from '../errors/status-errors.ts';

export interface ParsedJson {
  readonly value: unknown;
  /** Paths of duplicate members of an object (`spec.containers[0].name`). The last value counts. */
  readonly duplicates: readonly string[];
}

/**
 * Far above the depth of any object, far below the depth that would exhaust the stack of a recursive
 * function.
 */
const maximumDepth = 200;
const maximumDuplicates = 100;
/**
 * Far above the need of any object. 3 MiB can hold 1,500,000 values, which would block the server for
 * seconds.
 */
export const maximumValues = 100_000;

/**
 * Parses JSON and reports what JSON.parse hides. Throws SyntaxError as JSON.parse does (its message may quote
 * the text, which may contain a secret), ApiError 413 for more than 100,000 values, and ApiError 400 for
 * nesting beyond 200 and for numbers that do not fit in a double.
 */
export function parseJson(given: string): ParsedJson {
  checkValueCount(given);
  const text = replaceLoneSurrogates(given);
  const value = JSON.parse(text) as unknown;
  return { value, duplicates: findDuplicates(text) };
}

/**
 * Counts values before the text is parsed: each value except the first follows a comma or the start of a list
 * or an object.
 */
function checkValueCount(text: string): void {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === ',' || character === '[' || character === '{') values += 1;
  }
  if (values > maximumValues) throw tooManyValues(maximumValues);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

export const tooManyValues = (maximum: number): Error =>
  requestEntityTooLarge(`Request entity too large: limit is ${maximum} values`);

const surrogate = /\\u[dD][89a-fA-F]/;
const escapes =
  /(?<pair>\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(?<lone>\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** Replaces lone surrogates by U+FFFD, as Go does: URLs, headers and files cannot contain them. */
function replaceLoneSurrogates(text: string): string {
  if (!surrogate.test(text)) return text;
  return text.replaceAll(escapes, (escape, _pair, lone?: string) =>
    lone === undefined ? escape : '\\ufffd',
  );
}

interface Frame {
  /** The keys so far; undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index that is being read. */
  at: string | number;
}

interface Scan {
  readonly frames: Frame[];
  readonly duplicates: string[];
  /** True if the next string is a key. */
  expectsKey: boolean;
}

const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\],:]/g;

/**
 * Finds duplicate members. JSON.parse has accepted the text, so only strings, brackets and commas are
 * examined.
 */
function findDuplicates(text: string): readonly string[] {
  const scan: Scan = { frames: [], duplicates: [], expectsKey: false };
  for (const [word] of text.matchAll(token)) {
    if (word === '{' || word === '[') enter(scan, word);
    else if (word === '}' || word === ']') leave(scan);
    else if (word === ',') goOn(scan);
    else if (word === ':') scan.expectsKey = false;
    else if (word.startsWith('"')) noteKey(scan, word);
    else assertFinite(word);
  }
  return scan.duplicates;
}

function enter(scan: Scan, word: string): void {
  scan.expectsKey = word === '{';
  scan.frames.push({ keys: scan.expectsKey ? new Set() : undefined, at: 0 });
  if (scan.frames.length > maximumDepth) throw badRequest(`exceeded max depth of ${maximumDepth}`);
}

function leave(scan: Scan): void {
  scan.frames.pop();
  scan.expectsKey = false;
}

function goOn(scan: Scan): void {
  const frame = scan.frames.at(-1);
  scan.expectsKey = frame?.keys !== undefined;
  if (frame !== undefined && typeof frame.at === 'number') frame.at += 1;
}

function noteKey({ frames, duplicates, expectsKey }: Scan, word: string): void {
  const frame = frames.at(-1);
  if (!expectsKey || frame?.keys === undefined) return;
  const key = word.includes('\\') ? String(JSON.parse(word)) : word.slice(1, -1);
  frame.at = key;
  if (frame.keys.has(key) && duplicates.length < maximumDuplicates) duplicates.push(pathOf(frames));
  frame.keys.add(key);
}

function assertFinite(word: string): void {
  if (!Number.isFinite(Number(word))) throw badRequest(`the number ${word.slice(0, 20)} is out of range`);
}

function pathOf(frames: readonly Frame[]): string {
  return frames
    .map(({ at }, index) => (typeof at === 'number' ? `[${at}]` : `${index === 0 ? '' : '.'}${at}`))
    .join('');
}
