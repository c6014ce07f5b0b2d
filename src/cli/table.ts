import { oneLine } from '../errors/text.ts';

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
