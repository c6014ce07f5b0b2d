/** C0, DEL, C1, marks that turn the direction of text, and the two line ends of Unicode. */
const controls = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * A value of others as it may stand in a line of ours, control characters as `\u001b`, line ends among them: a terminal would obey
 * them, and a new line would be taken for ours.
 */
export function oneLine(value: string): string {
  return value.replaceAll(controls, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
