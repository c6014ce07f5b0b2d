import type { WriteStream } from 'node:tty';

/** A terminal on which a command draws the same picture again and again. */
export interface Screen {
  /** Columns and rows, as they are now. */
  size(): { readonly columns: number; readonly rows: number };
  /** Calls the listener after each change of the size, until `close`. */
  onResize(listener: () => void): void;
  /**
   * Replaces the picture. The first call switches to the alternate screen, which leaves what the operator
   * had on the terminal as it was. Lines that do not fit are cut off, and the last row says so.
   */
  draw(text: string): void;
  /** Switches back and shows the cursor. Is called at the end of the process if the command does not do it. */
  close(): void;
}

const enter = '\u001B[?1049h\u001B[?25l';
const leave = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const clearLine = '\u001B[K';
const clearBelow = '\u001B[J';

/** Returns the screen of a stream; undefined if it is not a terminal, or one without cursor control. */
export function openScreen(stream: WriteStream, term: string | undefined): Screen | undefined {
  if (!stream.isTTY || term === 'dumb') return undefined;
  let isOpen = false;
  const listeners: (() => void)[] = [];
  const close = (): void => {
    for (const listener of listeners.splice(0)) stream.off('resize', listener);
    process.off('exit', close);
    if (isOpen) stream.write(leave);
    isOpen = false;
  };
  const size = () => ({ columns: stream.columns, rows: stream.rows });
  return {
    size,
    onResize: (listener) => {
      listeners.push(listener);
      stream.on('resize', listener);
    },
    draw: (text) => {
      if (!isOpen) {
        stream.write(enter);
        process.on('exit', close);
      }
      isOpen = true;
      const lines = fitLines(text, size());
      stream.write(`${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearBelow}`);
    },
    close,
  };
}

/** Cuts a text to the size of a screen. */
export function fitLines(
  text: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string[] {
  const lines = text.trimEnd().split('\n');
  const cut = (line: string): string => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line);
  if (lines.length <= rows) return lines.map(cut);
  const hidden = lines.length - rows + 1;
  return [...lines.slice(0, rows - 1), `… ${hidden} more lines: enlarge the window`].map(cut);
}
