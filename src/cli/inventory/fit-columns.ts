import { type OutputTable, tableWidth } from '../output/table.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (item: T) => string;
  /** The columns with the highest number are left out first if a row is wider than the terminal. 0: never. */
  readonly rank: number;
}

/** Returns the columns that fit into a terminal of this width, in their order, and those of rank 0. */
export function fitColumns<T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  width: number,
): readonly Column<T>[] {
  const { header, rows } = tableOf(columns, items);
  if (tableWidth(header, rows) <= width) return columns;
  const [last] = columns.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank);
  return last === undefined
    ? columns
    : fitColumns(
        columns.filter((column) => column !== last),
        items,
        width,
      );
}

/** Returns the titles of the columns, and the cells of each item. */
export const tableOf = <T>(
  columns: readonly Column<T>[],
  items: readonly T[],
): Pick<OutputTable, 'header' | 'rows'> => ({
  header: columns.map(({ title }) => title),
  rows: items.map((item) => columns.map(({ cell }) => cell(item))),
});
