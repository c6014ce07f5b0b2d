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

/**
 * Truncates a text to at most that length, at a word boundary. Half a token would hide it from the redactor,
 * which looks for whole secrets. A text without a space is replaced by a note.
 */
export function truncateAtWord(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length + 1);
  const kept = cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)).trimEnd();
  return kept === '' ? `(${text.length} characters without a space left out)` : kept;
}

/** Drops the first word of a text whose beginning was cut off, perhaps within that word. */
export function dropFirstWord(text: string): string {
  const blank = text.search(/\s/u);
  return blank < 0 ? '' : text.slice(blank + 1);
}

/**
 * Beginnings of the lines on the CPI's stderr that create-env prints as warnings while a call runs. All other
 * lines are only for the director's log.
 */
export const progressPrefixes = { waiting: 'waiting for ', note: 'note: ' } as const;

/** Returns the next step for a full file system, as a part of a sentence; undefined for any other error. */
export function freeSpaceHint(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined;
  if (error.code === 'ENOSPC') return 'free space on the file system of that path';
  if (error.code === 'EDQUOT') return 'free space on the file system of that path, or have its quota raised';
  return undefined;
}
