import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Records this process as the first one of the cluster, which then counts as running. */
export async function markAsRunning(directory: string): Promise<void> {
  const [stat, bootId] = await Promise.all(
    ['/proc/self/stat', '/proc/sys/kernel/random/boot_id'].map((path) => readFile(path, 'utf8')),
  );
  const startTime = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ')[19];
  await writeFile(join(directory, 'process'), `${process.pid} ${startTime} ${bootId}`);
}
