import { readFile } from 'node:fs/promises';
import { sectionsOf } from './documented.ts';

/** The number of requests of one call. */
export interface RequestRow {
  readonly reads: number;
  readonly writes: number;
  readonly execs: number;
}

/** Reads the table of requests in docs/cpi.md, by the names of its rows. */
export async function requestRows(): Promise<Map<string, RequestRow>> {
  const page = await readFile(new URL('../../docs/cpi.md', import.meta.url), 'utf8');
  const rows = sectionsOf(page).get('Requests')?.rows ?? new Map<string, string>();
  return new Map(
    [...rows].map(([name, text]) => {
      const cells = text.split('|').map((cell) => cell.trim());
      const [reads = Number.NaN, writes = Number.NaN, execs = Number.NaN] = cells.slice(2, 5).map(Number);
      return [name, { reads, writes, execs }];
    }),
  );
}
