import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { escapeControls, indentFollowing } from './escape-controls.ts';
import { formatTable } from './table.ts';

export interface OutputTable {
  /** What its rows are, `jobs` for instance. */
  readonly content: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What a command says and asks. */
export interface Terminal {
  out(text: string): void;
  /** With `--json`: what is told from lines of text there. Use printTable and printBlock. */
  readonly structured?: {
    table(table: OutputTable): void;
    /** A text that is whole, an interpolated file for instance. */
    block(text: string): void;
  };
  /** One message; its following lines are indented. */
  error(message: string): void;
  /** False when nobody can answer: input is not a terminal. */
  readonly canAsk: boolean;
  /** One line of the operator's; undefined when none comes: end of input, Ctrl-C, the terminal gone, or `signal`. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
}

/** The same terminal, with what is written cleared of secrets: all output of all commands goes through it. */
export function redactingTerminal(terminal: Terminal, redact: (text: string) => string): Terminal {
  const { structured } = terminal;
  return {
    ...terminal,
    out: (text) => terminal.out(redact(text)),
    error: (message) => terminal.error(redact(message)),
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

/** Prints a table, in `--json` as such. */
export function printTable(terminal: Terminal, table: OutputTable): void {
  if (terminal.structured !== undefined) terminal.structured.table(table);
  else terminal.out(`${formatTable(table.header, table.rows)}\n`);
}

/** Prints a text that is whole, in `--json` as one. */
export function printBlock(terminal: Terminal, text: string): void {
  if (terminal.structured !== undefined) terminal.structured.block(text);
  else terminal.out(text);
}

/** The process's own streams. The one place that escapes control characters. */
export function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(escapeControls(text)),
    error: (message) => void process.stderr.write(`${escapeControls(indentFollowing(message))}\n`),
    canAsk: isatty(process.stdin.fd),
    ask: async (question, signal) => {
      const lines = createInterface({ input: process.stdin, output: process.stdout });
      const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
      try {
        return await Promise.race([lines.question(escapeControls(question), { signal }), closed]);
      } catch (error) {
        // Ctrl-C and Ctrl-D, which readline reads itself
        if (error instanceof Error && error.name === 'AbortError') return undefined;
        throw error;
      } finally {
        lines.close();
      }
    },
  };
}
