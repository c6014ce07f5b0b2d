import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { oneLine } from '../../errors/text.ts';
import { openScreen, type Screen } from './screen.ts';

export interface OutputTable {
  /** The name of the rows, for example `jobs`. */
  readonly content: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The output and the questions of a command. */
export interface Terminal {
  out(text: string): void;
  /** Set with `--json`: writes what a text terminal shows as lines. Use printTable and printBlock. */
  readonly structured?: {
    table(table: OutputTable): void;
    /** Writes a complete text, for example an interpolated file. */
    block(text: string): void;
  };
  /** Writes one message. Its lines after the first are indented. */
  error(message: string): void;
  /** Absent if the output is not a terminal, or with `--json`. */
  readonly screen?: Screen;
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
  const { structured, screen } = terminal;
  return {
    ...terminal,
    out: (text) => terminal.out(redact(text)),
    error: (message) => terminal.error(redact(message)),
    ...(screen !== undefined && { screen: { ...screen, draw: (text: string) => screen.draw(redact(text)) } }),
    ...(structured === undefined
      ? {}
      : {
          structured: {
            table: (table) =>
              structured.table({
                ...table,
                rows: table.rows.map((cells) => cells.map((cell) => redact(cell))),
              }),
            block: (text) => structured.block(redact(text)),
          },
        }),
  };
}

/** Prints a table, with `--json` as an object. */
export function printTable(terminal: Terminal, table: OutputTable): void {
  if (terminal.structured !== undefined) terminal.structured.table(table);
  else terminal.out(`${formatTable(table.header, table.rows)}\n`);
}

/** Prints a complete text, with `--json` as a block. */
export function printBlock(terminal: Terminal, text: string): void {
  if (terminal.structured !== undefined) terminal.structured.block(text);
  else terminal.out(text);
}

/** Returns the terminal of this process's streams. This is the only place that escapes control characters. */
export function processTerminal(): Terminal {
  const screen = openScreen(process.stdout, process.env['TERM']);
  return {
    ...(screen !== undefined && {
      screen: { ...screen, draw: (text: string) => screen.draw(escapeControls(text)) },
    }),
    out: (text) => void process.stdout.write(escapeControls(text)),
    error: (message) => void process.stderr.write(`${escapeControls(indentFollowing(message))}\n`),
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
 * Formats columns padded to their widest cell, with two spaces between them and no trailing blanks, as bosh
 * prints tables. Cells may contain untrusted text; each stays on its line. The result ends with a newline.
 * Without rows it is only the heading.
 */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows].map((line) => line.map(oneLine));
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
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
