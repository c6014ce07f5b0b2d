import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';

/** Returns the lines of a list of paths in a folder. */
export const pathsIn = (folder: URL, name: string): string[] =>
  readFileSync(new URL(`${name}.txt`, folder), 'utf8')
    .trim()
    .split('\n');

/** Returns the paths after the changes, whose lines begin with `-` (removed) or `+` (added). */
export function changed(paths: readonly string[], changes: readonly string[]): string[] {
  const ofSign = (sign: string): string[] =>
    changes.flatMap((line) => (line.startsWith(`${sign} `) ? line.slice(2) : []));
  const removed = new Set(ofSign('-'));
  return [...paths.filter((path) => !removed.has(path)), ...ofSign('+')];
}

/** Writes a list of paths. */
export const writePaths = (folder: URL, name: string, lines: readonly string[]): Promise<void> =>
  writeFile(new URL(`${name}.txt`, folder), `${lines.join('\n')}\n`);

/** Returns the lines that change one list of paths to another. */
export function changesBetween(before: readonly string[], after: readonly string[]): string[] {
  const [old, now] = [new Set(before), new Set(after)];
  return [
    ...before.filter((path) => !now.has(path)).map((path) => `- ${path}`),
    ...after.filter((path) => !old.has(path)).map((path) => `+ ${path}`),
  ];
}
