import { secretStrings } from './secret-strings.ts';
import { type DecodedView, viewsOf } from './decoded-views.ts';

/**
 * A shorter secret is redacted only if it is a whole word: messages use `on` or `bosh` with other meanings.
 */
const minSecretLength = 6;
/** The minimum length of a line of a longer secret; a shorter line may be ordinary text. */
const minLineLength = 12;

export type Redact = (text: string) => string;

/**
 * Returns a function that replaces every secret of `sources` (and the password of each URL among them) by
 * `<redacted>`. Also recognizes a secret without surrounding blanks, line by line, JSON-escaped, URL-encoded
 * or -decoded, and in base64 (alone or inside other data). A short secret is replaced only as a whole word.
 * This is the last line of defence, because messages may contain text of a server. Prepares nothing before
 * the first call.
 */
export function redactor(...sources: readonly unknown[]): Redact {
  let forms: Forms | undefined;
  return (text) => {
    forms ??= formsOf(secretStrings(sources));
    return mask(text, forms);
  };
}

interface Forms {
  readonly long: readonly string[];
  /** The forms of `long` as UTF-8, one character per byte. */
  readonly longInBytes: readonly string[];
  readonly short: readonly RegExp[];
}

function formsOf(secrets: readonly string[]): Forms {
  const all = new Set(secrets.flatMap(encodedForms));
  const long = [...all].filter((form) => form.length >= minSecretLength);
  const short = [...all].filter((form) => form.length < minSecretLength);
  return {
    long,
    longInBytes: long.map(bytesOf),
    short: short.flatMap((form) => [
      boundaryPattern(form),
      boundaryPattern(btoa(bytesOf(form)).replace(/=+$/u, '')),
    ]),
  };
}

function encodedForms(secret: string): string[] {
  const decoded = [urlDecoded(secret), base64Decoded(secret)].filter((text) => text !== undefined);
  const derived = [secret.trim(), ...decoded, ...[secret, ...decoded].flatMap(linesOf)];
  return [secret, ...derived.filter((form) => form.length >= minSecretLength)];
}

function linesOf(secret: string): string[] {
  if (!secret.includes('\n')) return [];
  const lines = secret.split('\n').map((line) => line.trim());
  return lines.filter((line) => line.length >= minLineLength && !/^-----(?:BEGIN|END) /u.test(line));
}

function urlDecoded(secret: string): string | undefined {
  if (!/%[0-9a-f]{2}/iu.test(secret)) return undefined;
  try {
    return decodeURIComponent(secret);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * Decodes text in base64, such as the keys of a kubeconfig. Undefined for other values: a random password
 * does not decode to text.
 */
function base64Decoded(secret: string): string | undefined {
  if (!/^[A-Za-z0-9+/\s]{16,}=*\s*$/u.test(secret)) return undefined;
  const run = secret.replaceAll(/[\s=]/gu, '');
  if (run.length % 4 === 1) return undefined;
  const text = atob(run);
  return /^[\t\n\r\x20-\x7E]+$/u.test(text) ? text.trim() : undefined;
}

function bytesOf(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

function boundaryPattern(text: string): RegExp {
  const literal = text.replaceAll(/[.*+?^${}()|[\]\\/]/gu, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${literal}(?![\p{L}\p{N}_])`, 'gu');
}

type Range = readonly [start: number, end: number];

function mask(text: string, forms: Forms): string {
  const views = viewsOf(text);
  if (views === undefined) return `<${text.length} characters left out>`;
  const ranges = views.flatMap((view) => rangesIn(view, forms)).toSorted(([a], [b]) => a - b);
  let result = '';
  let end = 0;
  for (const range of ranges) {
    if (range[0] >= end) result += `${text.slice(end, range[0])}<redacted>`;
    end = Math.max(end, range[1]);
  }
  return result + text.slice(end);
}

function rangesIn(view: DecodedView, { long, longInBytes, short }: Forms): Range[] {
  const found: Range[] = [];
  const addRange = (index: number, length: number): void =>
    void found.push([view.start(index), view.end(index + length - 1)]);
  for (const form of view.isBytes ? longInBytes : long) {
    for (let at = view.text.indexOf(form); at >= 0; at = view.text.indexOf(form, at + form.length))
      addRange(at, form.length);
  }
  for (const pattern of short)
    for (const { 0: word, index } of view.text.matchAll(pattern))
      if (!view.isBytes || isInText(view.text, index)) addRange(index, word.length);
  return found;
}

/**
 * True if the match is in decoded text. Text that is not base64 decodes to random bytes: two letters between
 * them are not a word.
 */
function isInText(bytes: string, index: number): boolean {
  const end = bytes.indexOf('\0', index);
  const run = bytes.slice(bytes.lastIndexOf('\0', index) + 1, end < 0 ? undefined : end);
  return /^[\t\n\r\x20-\x7E]*$/u.test(run);
}

/** The secrets that a process knows so far, and a redactor for them. */
export interface KnownSecrets {
  readonly add: (secrets: readonly string[]) => void;
  readonly redact: Redact;
}

export function knownSecrets(): KnownSecrets {
  const known = new Set<string>();
  let redact: Redact | undefined;
  return {
    add: (secrets) => {
      const before = known.size;
      for (const secret of secrets) known.add(secret);
      if (known.size > before) redact = undefined;
    },
    redact: (text) => {
      if (known.size === 0) return text;
      redact ??= redactor({ password: [...known] });
      return redact(text);
    },
  };
}
