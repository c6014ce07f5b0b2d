import { oneLine } from '../../errors/text.ts';
import { terminalWidth } from './terminal-width.ts';

/** What a cell says about its row; a terminal shows it as green, yellow or red. */
export type Tone = 'ok' | 'warning' | 'failed';

/** Untrusted text is allowed. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

export interface OutputTable {
  /** The name of the rows, for example `jobs`. */
  readonly content: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);

export const mapCell = (cell: Cell, map: (text: string) => string): Cell =>
  typeof cell === 'string' ? map(cell) : { ...cell, text: map(cell.text) };

/** Returns the table with each cell's text replaced. */
export function mapCells({ rows, ...table }: OutputTable, map: (text: string) => string): OutputTable {
  return { ...table, rows: rows.map((cells) => cells.map((cell) => mapCell(cell, map))) };
}

/** Formats text of a tone; the default adds nothing. */
export type Paint = (text: string, tone: Tone) => string;

const withoutColour: Paint = (text) => text;

/**
 * Formats columns padded to their widest cell, with two spaces between them and no trailing blanks, as bosh
 * prints tables. Cells may contain untrusted text; each stays on its line. The result ends with a newline.
 * Without rows it is only the heading.
 */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint = withoutColour,
): string {
  const widths = columnWidths(heading, rows);
  return [heading, ...rows]
    .map((line) => line.map(escaped))
    .map((line) => {
      const last = line.findLastIndex((cell) => width(cell) > 0);
      const cells = line
        .slice(0, last + 1)
        .map((cell, column) => paintCell(cell, paint) + padding(cell, column === last ? 0 : widths[column]));
      return `${cells.join(' '.repeat(gap)).trimEnd()}\n`;
    })
    .join('');
}

/** The number of blanks between two columns. */
const gap = 2;

function columnWidths(heading: readonly string[], rows: readonly (readonly Cell[])[]): number[] {
  const widthOf = (cell: Cell = ''): number => width(escaped(cell));
  return heading.map((title, column) =>
    rows.reduce((widest, cells) => Math.max(widest, widthOf(cells[column])), widthOf(title)),
  );
}

/** Returns the number of columns of a terminal that the table needs. */
export const tableWidth = (heading: readonly string[], rows: readonly (readonly Cell[])[]): number =>
  columnWidths(heading, rows).reduce((sum, each) => sum + each + gap, -gap);

/** On a narrower terminal, a table that does not fit is unreadable in lines that the terminal wraps. */
const minTableColumns = 60;
/** The last column is not made narrower than this. */
const minTextColumns = 24;

/**
 * Formats a table for a terminal. Cells of the last column that are too wide for it continue on the next
 * line, below their column. If that leaves too little room, a narrow terminal gets a block of lines
 * `Column  cell` for each row; on a wider one the lines are longer than the terminal, as those of kubectl.
 */
export function formatForTerminal(
  { header, rows }: Pick<OutputTable, 'header' | 'rows'>,
  columns: number,
  paint: Paint = withoutColour,
): string {
  const table = formatTable(header, rows, paint);
  if (!rows.some((cells) => cells.length > 0)) return table;
  const widths = columnWidths(header, rows);
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap, 0);
  if (before + (widths.at(-1) ?? 0) <= columns) return table;
  if (columns - before >= minTextColumns)
    return formatTable(
      header,
      rows.flatMap((cells) => wrapLast(cells, header.length, columns - before)),
      paint,
    );
  return columns < minTableColumns ? formatRecords(header, rows, paint) : table;
}

/** Returns the row, and a row for each further line of its last cell. */
function wrapLast(cells: readonly Cell[], count: number, columns: number): Cell[][] {
  const last = escaped(cells[count - 1] ?? '');
  return wrapText(textOf(last), columns).map((line, index) => [
    ...Array.from({ length: count - 1 }, (_, column) => (index === 0 ? (cells[column] ?? '') : '')),
    typeof last === 'string' ? line : { ...last, text: line },
  ]);
}

function formatRecords(header: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): string {
  const titles = Math.max(...header.map(width));
  const records = rows.map((cells) =>
    header.map((title, column) =>
      `${title}${padding(title, titles)}  ${paintCell(escaped(cells[column] ?? ''), paint)}`.trimEnd(),
    ),
  );
  return records.map((lines) => `${lines.join('\n')}\n`).join('\n');
}

/** Breaks a text at blanks into lines of at most that many columns. A longer word is a line of its own. */
export function wrapText(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    if (current !== '' && width(current) + 1 + width(word) > columns) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}

const escaped = (cell: Cell): Cell => mapCell(cell, oneLine);

const width = (cell: Cell): number => terminalWidth(textOf(cell));

const padding = (cell: Cell, columns = 0): string => ' '.repeat(Math.max(0, columns - width(cell)));

/** Formats a cell whose text is escaped. */
export const paintCell = (cell: Cell, paint: Paint): string =>
  typeof cell === 'string' ? cell : paint(cell.text, cell.tone);
