import { oneLine } from '../../errors/text.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (item: T) => string;
  /** The columns with the highest number are left out first if a row is wider than the terminal. 0: never. */
  readonly rank: number;
}

const gap = 2;

/** Returns the columns that fit into a terminal of this width, in their order. */
export function fitColumns<T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  width: number,
): readonly Column<T>[] {
  const widthOf = ({ title, cell }: Column<T>): number =>
    Math.max(title.length, ...items.map((item) => oneLine(cell(item)).length));
  const fitting = [...columns];
  const total = (): number => fitting.reduce((sum, column) => sum + widthOf(column) + gap, -gap);
  while (total() > width) {
    const [last] = fitting.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank);
    if (last === undefined) break;
    fitting.splice(fitting.indexOf(last), 1);
  }
  return fitting;
}
