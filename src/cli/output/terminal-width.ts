const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Most texts; each character has one column. */
const narrow = /^[ -~…]*$/u;
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u{3000}-\u{303E}\u{FF01}-\u{FF60}\u{FFE0}-\u{FFE6}]/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Returns the number of columns that a text without control characters has on a terminal. */
export function terminalWidth(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

const graphemeWidth = (grapheme: string): number =>
  wide.test(grapheme) ? 2 : invisible.test(grapheme) ? 0 : 1;

/** Cuts a text that is wider than that many columns, so that it fits with an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  if (terminalWidth(text) <= columns) return text;
  let [start, width] = ['', 0];
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    start += segment;
  }
  return `${start}…`;
}
