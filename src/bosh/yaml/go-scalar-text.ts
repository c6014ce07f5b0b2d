import { resolvePlain } from './go-scalar.ts';
import { codePoints, isBreak, isPrintable, scalarStyle, simpleKeyLimit } from './go-scalar-style.ts';
import type { ScalarStyle } from './go-scalar-style.ts';
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
