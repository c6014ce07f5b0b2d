import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { oneLine } from '../../errors/text.ts';
import { openDisplay, type Display } from './display.ts';
import { formatTable, mapCell, mapCells, textOf, type Cell, type OutputTable } from './table.ts';

/** The output and the questions of a command. */
export interface Terminal {
  out(text: string): void;
  /** Set if stdout is a terminal that can move its cursor. */
  readonly display?: Display | undefined;
  /** Set with `--json`: writes what a text terminal shows as lines. Use printTable and printBlock. */
  readonly structured?: {
    table(table: OutputTable): void;
    /** Writes a complete text, for example an interpolated file. */
    block(text: string): void;
  };
  /** Writes one message. Its lines after the first are indented. */
  error(message: string): void;
  /** False if input is not a terminal, so that nothing can answer a question. */
  readonly canAsk: boolean;
  /**
   * Reads one line from the operator. Returns undefined at the end of input, after Ctrl-C, if the terminal
   * has closed, or if `signal` is aborted.
   */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
}

/** Returns a terminal that removes secrets from all output. The output of all commands goes through it. */
export function redactingTerminal(terminal: Terminal, redact: (text: string) => string): Terminal {
  const { display, structured } = terminal;
  return {
    ...terminal,
    display: display && redactingDisplay(display, redact),
    out: (text) => terminal.out(redact(text)),
    error: (message) => terminal.error(redact(message)),
    ...(structured === undefined
      ? {}
      : {
          structured: {
            table: (table) => structured.table(mapCells(table, redact)),
            block: (text) => structured.block(redact(text)),
          },
        }),
  };
}

function redactingDisplay(display: Display, redact: (text: string) => string): Display {
  const { screen } = display;
  const redactLines = (lines: readonly Cell[]): Cell[] => lines.map((line) => mapCell(line, redact));
  return {
    get columns() {
      return display.columns;
    },
    table: (table) => display.table(mapCells(table, redact)),
    lines: (lines) => display.lines(redactLines(lines)),
    screen: { ...screen, draw: (lines) => screen.draw(redactLines(lines)) },
    live: (text, end = '') => display.live(redact(text), redact(end)),
  };
}

/**
 * Prints a table: with `--json` as an object; on a terminal at its width and with the tones of its cells in
 * colour; otherwise as plain columns.
 */
export function printTable(terminal: Terminal, table: OutputTable): void {
  if (terminal.structured !== undefined) terminal.structured.table(table);
  else if (terminal.display !== undefined) terminal.display.table(table);
  else terminal.out(`${formatTable(table.header, table.rows)}\n`);
}

/** Prints lines, on a terminal with their tones in colour. */
export function printLines(terminal: Terminal, lines: readonly Cell[]): void {
  if (terminal.display !== undefined) terminal.display.lines(lines);
  else terminal.out(lines.map((line) => `${textOf(line)}\n`).join(''));
}

/** Prints a complete text, with `--json` as a block. */
export function printBlock(terminal: Terminal, text: string): void {
  if (terminal.structured !== undefined) terminal.structured.block(text);
  else terminal.out(text);
}

/**
 * Returns the terminal of this process's streams. Control characters are escaped only here and, in tables,
 * lines and the live line, by its display.
 */
export function processTerminal(): Terminal {
  const display = openDisplay(process.stdout, process.env);
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    if (display === undefined) stream.write(text);
    else display.beside(text, () => void stream.write(text));
  };
  return {
    display,
    out: (text) => write(process.stdout, escapeControls(text)),
    error: (message) => write(process.stderr, `${escapeControls(indentFollowing(message))}\n`),
    canAsk: isatty(process.stdin.fd),
    ask: async (question, signal) => {
      const lines = createInterface({ input: process.stdin, output: process.stdout });
      const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
      try {
        return await Promise.race([lines.question(escapeControls(question), { signal }), closed]);
      } catch (error) {
        // Ctrl-C and Ctrl-D, which readline handles itself.
        if (error instanceof Error && error.name === 'AbortError') return undefined;
        throw error;
      } finally {
        lines.close();
      }
    },
  };
}

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
