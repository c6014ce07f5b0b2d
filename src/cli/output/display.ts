import { oneLine } from '../../errors/text.ts';
import type { LiveLine } from '../../platform/live-progress.ts';
import { openScreen, type Screen, type ScreenStream } from './screen.ts';
import {
  formatForTerminal,
  mapCell,
  paintCell,
  type Cell,
  type OutputTable,
  type Paint,
  type Tone,
} from './table.ts';
import { cutToWidth } from './terminal-width.ts';

/** What only a terminal can show. All texts may be untrusted. */
export interface Display {
  /** The present width. */
  readonly columns: number;
  /** Writes a table that fits the width if possible, with tones in colour. */
  table(table: OutputTable): void;
  /** Writes lines with their tones in colour. */
  lines(lines: readonly Cell[]): void;
  /** The whole terminal, for a command that draws the same picture again and again. */
  readonly screen: Screen;
  /**
   * Shows one line below all other output until the next call replaces it; an empty text removes it. `end`
   * stays visible if the terminal is too narrow for both.
   */
  readonly live: LiveLine;
}

/** The part of a stream of node:tty that a display needs. */
export interface DisplayStream extends ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface ProcessDisplay extends Display {
  /** Writes text, without the live line in between. */
  beside(text: string, write: () => void): void;
}

const colours: Readonly<Record<Tone, number>> = { ok: 32, warning: 33, failed: 31 };
const eraseLine = '\r\u001b[2K';

/**
 * Returns the display of a stream; undefined if it is no terminal, or one that cannot move its cursor
 * (`TERM=dumb`). A non-empty NO_COLOR turns colours off (no-color.org).
 */
export function openDisplay(
  stream: DisplayStream,
  environment: Readonly<Record<string, string | undefined>>,
): ProcessDisplay | undefined {
  if (stream.isTTY !== true || environment['TERM'] === 'dumb') return undefined;
  const hasColour = (environment['NO_COLOR'] ?? '') === '';
  const paint: Paint = (text, tone) => (hasColour ? `\u001b[${colours[tone]}m${text}\u001b[0m` : text);
  // A terminal without a known size reports 0 columns.
  const columns = (): number => stream.columns || 80;
  let shown: readonly [text: string, end: string] | undefined;
  // The last column stays empty, because some terminals begin another line after it.
  const draw = ([text, end]: readonly [string, string]): void =>
    void stream.write(`${eraseLine}${fit(oneLine(text), oneLine(end), columns() - 1)}`);
  const beside = (text: string, write: () => void): void => {
    if (shown !== undefined) stream.write(eraseLine);
    write();
    if (shown !== undefined && text.endsWith('\n')) draw(shown);
  };
  const writeBeside = (text: string): void => beside(text, () => void stream.write(text));
  return {
    get columns() {
      return columns();
    },
    table: (table) => writeBeside(`${formatForTerminal(table, columns(), paint)}\n`),
    lines: (lines) =>
      writeBeside(lines.map((line) => `${paintCell(mapCell(line, oneLine), paint)}\n`).join('')),
    screen: openScreen(stream, { columns, paint }),
    live: (text, end = '') => {
      if (text === '' && shown !== undefined) stream.write(eraseLine);
      shown = text === '' ? undefined : [text, end];
      if (shown !== undefined) draw(shown);
    },
    beside,
  };
}

function fit(text: string, end: string, columns: number): string {
  const room = Math.max(0, columns - end.length);
  return `${cutToWidth(text, room)}${end}`.slice(0, columns);
}
