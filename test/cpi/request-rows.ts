import { cpiSections } from './documented.ts';

/** The number of requests of one call. */
export interface RequestRow {
  readonly reads: number;
  readonly writes: number;
  readonly execs: number;
}

/** Reads the table of requests in docs/cpi/internals.md, by the names of its rows. */
export async function requestRows(): Promise<Map<string, RequestRow>> {
  const rows = (await cpiSections()).get('Requests')?.rows ?? new Map<string, string>();
  return new Map(
    [...rows].map(([name, text]) => {
      const cells = text.split('|').map((cell) => cell.trim());
      const [reads = Number.NaN, writes = Number.NaN, execs = Number.NaN] = cells.slice(2, 5).map(Number);
      return [name, { reads, writes, execs }];
    }),
  );
}
