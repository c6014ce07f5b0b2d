import { cp, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../command.ts';
import type { FstabEntry } from '../mounts/fstab.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { flagsToPreserve, mountOf } from '../mounts/mount-table.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

const systemLocaleDirectory = '/usr/lib/locale';
const name = 'en_US.utf8';

/**
 * Provides en_US.UTF-8, which stemcells have and jobs request, if the machine does not have it: it is C.UTF-8
 * under that name. It is made in `folder`, which replaces the machine's directory of locales and contains its
 * other locales, too. (To generate it by localedef takes two seconds of CPU time at each start.) Returns the
 * mounts; none if the machine has the locale or has no C.UTF-8.
 */
export async function ownLocale(host: string, folder: string): Promise<FstabEntry[]> {
  const plain = join(systemLocaleDirectory, 'C.utf8');
  if (!(await isFolder(plain)) || (await hasLocale())) return [];
  await mkdir(folder);
  await cp(plain, join(folder, name), { recursive: true });
  const table = await readMountTable();
  const bind = (source: string, target: string): FstabEntry => ({
    source,
    target,
    type: 'none',
    options: ['bind', 'ro', ...flagsToPreserve(mountOf(table, source)), 'private'],
  });
  const entries = await readdir(systemLocaleDirectory, { withFileTypes: true });
  const kept = entries.filter((entry) => entry.isDirectory() || entry.isFile());
  for (const entry of kept) {
    if (entry.isDirectory()) await mkdir(join(folder, entry.name));
    else await writeFile(join(folder, entry.name), '');
  }
  const target = join(host, systemLocaleDirectory);
  return [
    bind(folder, target),
    ...kept.map((entry) => bind(join(systemLocaleDirectory, entry.name), join(target, entry.name))),
  ];
}

async function hasLocale(): Promise<boolean> {
  const { stdout } = await runCommand('locale', ['-a']);
  return /^en_US\.utf-?8$/im.test(stdout);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
