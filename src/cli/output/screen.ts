import { oneLine } from '../../errors/text.ts';
import { mapCell, paintCell, type Cell, type Paint } from './table.ts';
import { cutToWidth } from './terminal-width.ts';

/** A terminal on which a command draws the same picture again and again. */
export interface Screen {
  /** Calls the listener after each change of the size, until `close`. */
  onResize(listener: () => void): void;
  /**
   * Replaces the picture. The first call switches to the alternate screen, which leaves what the operator
   * had on the terminal as it was. Lines that do not fit are cut off, and the last row says so. Lines may
   * contain untrusted text.
   */
  draw(lines: readonly Cell[]): void;
  /**
   * Switches back and shows the cursor. Is called at the end of the process if the command does not do
   * it.
   */
  close(): void;
}

const enter = '\u001B[?1049h\u001B[?25l';
const leave = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const clearLine = '\u001B[K';
const clearBelow = '\u001B[J';

/** The part of a stream of node:tty that a screen needs. */
export interface ScreenStream {
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface ScreenOptions {
  /** Returns the present width. */
  readonly columns: () => number;
  readonly paint: Paint;
}

/** Returns the screen of a terminal that can move its cursor. */
export function openScreen(stream: ScreenStream, { columns, paint }: ScreenOptions): Screen {
  let isOpen = false;
  const listeners: (() => void)[] = [];
  const close = (): void => {
    for (const listener of listeners.splice(0)) stream.off('resize', listener);
    process.off('exit', close);
    if (isOpen) stream.write(leave);
    isOpen = false;
  };
  return {
    onResize: (listener) => {
      listeners.push(listener);
      stream.on('resize', listener);
    },
    draw: (lines) => {
      if (!isOpen) {
        stream.write(enter);
        process.on('exit', close);
      }
      isOpen = true;
      // A terminal without a known size reports 0 rows.
      const fitting = fitLines(lines, { columns: columns(), rows: stream.rows || 24 });
      const painted = fitting.map((line) => `${paintCell(line, paint)}${clearLine}`);
      stream.write(`${home}${painted.join('\r\n')}${clearBelow}`);
    },
    close,
  };
}

/** Cuts lines to the size of a screen. */
export function fitLines(
  lines: readonly Cell[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): Cell[] {
  const fit = (line: Cell): Cell => mapCell(line, (text) => cutToWidth(oneLine(text), columns));
  if (lines.length <= rows) return lines.map(fit);
  const hidden = lines.length - rows + 1;
  return [...lines.slice(0, rows - 1), `… ${hidden} more lines: enlarge the window`].map(fit);
}
