import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Where a new text of that file is written before it takes the file's place. No other user can know the name before; open it
 * with `wx`, which follows no link.
 */
export function temporaryPath(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}.new`;
}

/** Removes the drafts of that file that killed runs left: this user's own files. Not while another run writes the same file. */
export function removeTemporaryFiles(path: string): void {
  const [folder, prefix] = [dirname(path), `${basename(path)}.`];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{16}\.new$/.test(name.slice(prefix.length))) continue;
    const draft = join(folder, name);
    const found = lstatSync(draft, { throwIfNoEntry: false });
    if (found?.isFile() === true && found.uid === process.geteuid?.()) rmSync(draft, { force: true });
  }
}
