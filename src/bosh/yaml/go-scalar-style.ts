export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal';

/** The maximum length of a simple key in bytes of UTF-8. A longer key needs a `?`. */
export const simpleKeyLimit = 128;

export interface ScalarUse {
  readonly key: boolean;
  /** True if the text without quotes would be parsed as another type. */
  readonly ambiguous: boolean;
}

/**
 * Returns how go yaml.v2 quotes a text (encode.go: stringv; emitterc.go: analyze_scalar,
 * select_scalar_style).
 */
export function scalarStyle(text: string, { key, ambiguous }: ScalarUse): ScalarStyle {
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
export function isPrintable(code: number): boolean {
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
