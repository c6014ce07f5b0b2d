/** C0, DEL, C1, marks that change the direction of text, and the two line ends of Unicode. */
const controls = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * Escapes untrusted text for one line of output: control characters, line ends among them, become `\u001b`
 * and so on. Otherwise a terminal would execute them, and a new line would look like a line of ours.
 */
export function oneLine(value: string): string {
  return value.replaceAll(controls, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
