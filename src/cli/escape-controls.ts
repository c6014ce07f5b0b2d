import { oneLine } from '../errors/text.ts';

/**
 * Escapes all control characters except newline and tab as `\u001b`. Messages quote servers, agents and
 * manifests, which must not move the cursor or overwrite a line.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(/[^\n\t]+/gu, oneLine);
}

/**
 * Indents every line of a message except the first, so that a quoted line does not look like a message. Lines
 * that are already indented stay unchanged.
 */
export function indentFollowing(message: string): string {
  return message.replaceAll(/\n(?=[^ \t\n])/gu, '\n  ');
}
