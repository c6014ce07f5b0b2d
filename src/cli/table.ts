import { oneLine } from '../errors/one-line.ts';

/**
 * Columns padded to their widest cell, two spaces between them, no trailing blanks, as bosh prints tables.
 * Cells may be of others: each stays in its line. Ends with a newline; without rows it is the heading alone.
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
