import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Returns the path for new content of that file, which is written there first and then renamed. Other users
 * cannot guess the name. Open it with `wx`, which does not follow links.
 */
export function temporaryPath(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}.new`;
}

/**
 * Removes the temporary files of that file that killed runs left behind, if this user owns them. Must not run
 * while another run writes the same file.
 */
export function removeTemporaryFiles(path: string): void {
  const [folder, prefix] = [dirname(path), `${basename(path)}.`];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{16}\.new$/.test(name.slice(prefix.length))) continue;
    const draft = join(folder, name);
    const found = lstatSync(draft, { throwIfNoEntry: false });
    if (found?.isFile() === true && found.uid === process.geteuid?.()) rmSync(draft, { force: true });
  }
}
