import { resolvePlain } from './go-scalar.ts';
import type { ScalarNode } from './yaml-node.ts';

/** Returns true if a key fits before a colon. Any other key needs a `?`. */
export function isSimpleKey(key: ScalarNode): boolean {
  const text = scalarText(key);
  return !codePoints(text).some(isBreak) && Buffer.byteLength(text) <= simpleKeyLimit;
}

/** Returns the style that the encoder and the emitter choose. */
export function styleOf(node: ScalarNode, text: string, key: boolean): ScalarStyle {
  if (typeof node.value !== 'string') return 'plain';
  const { tag } = resolvePlain(text);
  return scalarStyle(text, { key, ambiguous: tag !== 'text' || isBase60(text) });
}

function isBase60(text: string): boolean {
  return /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/.test(text);
}

/** Returns the text of a scalar as Go prints its value. */
export function scalarText({ value, text }: ScalarNode): string {
  if (value === null) return 'null';
  if (typeof value !== 'number') return String(value);
  const isFloat = /[.eEnN]/.test(text) && !/^[-+]?0[xX]/.test(text);
  return isFloat || !Number.isInteger(value) ? floatText(value) : String(value);
}

/** Formats as Go's strconv.FormatFloat(value, 'g', -1, 64), with YAML's infinities. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return Object.is(value, -0) ? '-0' : decimal(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function decimal(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  return value.toFixed(20).replace(/0+$/, '');
}

const escapes: ReadonlyMap<number, string> = new Map([
  [0x00, '0'],
  [0x07, 'a'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0b, 'v'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0xa0, '_'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

/** Returns the character in its form within double quotes. */
export function escapeChar(char: string, always: boolean): string {
  const code = char.codePointAt(0) ?? 0;
  const mustEscape = always || !isPrintable(code) || isBreak(char) || char === '"' || char === '\\';
  if (!mustEscape) return char;
  const short = escapes.get(code);
  if (short !== undefined) return `\\${short}`;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal';

/** The maximum length of a simple key in bytes of UTF-8. A longer key needs a `?`. */
const simpleKeyLimit = 128;

export interface ScalarUse {
  readonly key: boolean;
  /** True if the text without quotes would be parsed as another type. */
  readonly ambiguous: boolean;
}

/**
 * Returns how go yaml.v2 quotes a text (encode.go: stringv; emitterc.go: analyze_scalar,
 * select_scalar_style).
 */
function scalarStyle(text: string, { key, ambiguous }: ScalarUse): ScalarStyle {
  const chars = codePoints(text);
  if (text.includes('\n')) return key || !literalAllowed(chars) ? 'double' : 'literal';
  if (ambiguous || (key && chars.some(isBreak))) return 'double';
  if (plainAllowed(chars)) return 'plain';
  return singleAllowed(chars) ? 'single' : 'double';
}

export function isBreak(char: string | undefined): boolean {
  return char === '\n' || char === '\r' || char === '\u0085' || char === '\u2028' || char === '\u2029';
}

/**
 * Returns true for code points that the emitter writes unescaped. Tabs and code points beyond 16 bits are
 * escaped.
 */
function isPrintable(code: number): boolean {
  if (code === 0x0a) return true;
  if (code < 0xa0) return code >= 0x20 && code <= 0x7e;
  return code <= 0xfffd && code !== 0xfeff && !(code >= 0xd800 && code <= 0xdfff);
}

function plainAllowed(chars: readonly string[]): boolean {
  if (chars.length === 0) return true;
  if (isSpaceOrBreak(chars[0]) || isSpaceOrBreak(chars.at(-1))) return false;
  return !chars.some(isBreak) && singleAllowed(chars) && !hasBlockIndicator(chars);
}

function singleAllowed(chars: readonly string[]): boolean {
  return !hasSpecial(chars) && !hasSpaceBeforeBreak(chars) && !hasSpaceAfterBreak(chars);
}

function literalAllowed(chars: readonly string[]): boolean {
  return chars.at(-1) !== ' ' && !hasSpecial(chars) && !hasSpaceBeforeBreak(chars);
}

function hasSpecial(chars: readonly string[]): boolean {
  return chars.some((char) => !isPrintable(char.codePointAt(0) ?? 0));
}

function hasSpaceBeforeBreak(chars: readonly string[]): boolean {
  return chars.some((char, index) => isBreak(char) && chars[index - 1] === ' ');
}

function hasSpaceAfterBreak(chars: readonly string[]): boolean {
  return chars.some((char, index) => char === ' ' && index > 0 && isBreak(chars[index - 1]));
}

function hasBlockIndicator(chars: readonly string[]): boolean {
  const start = chars.slice(0, 3).join('');
  if (start === '---' || start === '...') return true;
  return chars.some((char, index) => {
    const beforeBlank = index === chars.length - 1 || isBlank(chars[index + 1]);
    if (index === 0) {
      return '#,[]{}&*!|>\'"%@`'.includes(char) || ('?:-'.includes(char) && beforeBlank);
    }
    if (char === ':') return beforeBlank;
    return char === '#' && isBlankOrEnd(chars[index - 1]);
  });
}

function isSpaceOrBreak(char: string | undefined): boolean {
  return char === ' ' || isBreak(char);
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

function isBlankOrEnd(char: string | undefined): boolean {
  return isBlank(char) || isBreak(char) || char === '\0';
}

/** Splits a text into code points, because the emitter works on these and not on grapheme clusters. */
export function codePoints(text: string): readonly string[] {
  return Array.from(text);
}
