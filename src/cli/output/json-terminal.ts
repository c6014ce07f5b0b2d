import { textOf, type Cell, type OutputTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface JsonTable {
  readonly Content: string;
  readonly Header: Readonly<Record<string, string>>;
  readonly Rows: readonly Readonly<Record<string, string>>[];
  readonly Notes: null;
}

export interface JsonTerminal {
  readonly terminal: Terminal;
  /** Writes the collected output, with the result as the last line. */
  finish(exitCode: number): void;
}

/**
 * Returns the terminal for `--json`. It collects the output and writes one object with Tables, Blocks and
 * Lines, as the bosh CLI does (bosh-cli: ui/json_ui.go). Errors are among the lines, on stdout.
 */
export function jsonTerminal(write: (text: string) => void): JsonTerminal {
  const tables: JsonTable[] = [];
  const blocks: string[] = [];
  const lines: string[] = [];
  const add = (text: string): void =>
    void lines.push(...text.split('\n').filter((line) => line.trim() !== ''));
  const terminal: Terminal = {
    out: add,
    error: (message) => void lines.push(message),
    structured: {
      table: (table) => void tables.push(toJson(table)),
      block: (text) => void blocks.push(text),
    },
    canAsk: false,
    ask: () => Promise.resolve(undefined),
  };
  const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);
  const finish = (exitCode: number): void => {
    if (exitCode !== 0) lines.push(`Exit code ${exitCode}`);
    else if (lines.at(-1) !== 'Succeeded') lines.push('Succeeded');
    const response = { Tables: orNull(tables), Blocks: orNull(blocks), Lines: lines };
    write(`${JSON.stringify(response, undefined, 4)}\n`);
  };
  return { terminal, finish };
}

function toJson({ content, header, rows }: OutputTable): JsonTable {
  const keys = header.map(keyOf);
  const named = (cells: readonly Cell[]): Readonly<Record<string, string>> =>
    Object.fromEntries(keys.map((key, column) => [key, textOf(cells[column] ?? '')]));
  return { Content: content, Header: named(header), Rows: rows.map(named), Notes: null };
}

/** Converts for example `Commit Hash` to `commit_hash`. */
function keyOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/gu, '_');
}
