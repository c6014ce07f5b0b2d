import { oneLine } from '../errors/one-line.ts';

/**
 * A text of lines with all control characters but newline and tab as `\u001b`. Messages quote servers, agents and manifests, which
 * are not to move the cursor or rewrite a line.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(/[^\n\t]+/gu, oneLine);
}

/**
 * One message, every following line of it indented: where it quotes others, none of their lines looks like a message of its own.
 * Lines that are indented already stay.
 */
export function indentFollowing(message: string): string {
  return message.replaceAll(/\n(?=[^ \t\n])/gu, '\n  ');
}
