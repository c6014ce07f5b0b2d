/**
 * What a terminal would obey rather than show: C0 but newline and tab, DEL, C1, marks that turn the direction of text, and the two
 * line ends of Unicode. Messages quote servers, agents and manifests, which are not to move the cursor or rewrite a line.
 */
const controls = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** The text with control characters as `\u001b`. */
export function escapeControls(text: string): string {
  return text.replaceAll(controls, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
