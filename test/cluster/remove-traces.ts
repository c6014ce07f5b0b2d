import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runWell } from '../support/run.ts';
import { until } from '../support/until.ts';
import type { ClusterPaths } from './cluster-paths.ts';

/**
 * Removes what stopped machines have left: control groups, loop devices, and the cluster's directory with all
 * its data.
 */
export async function removeTraces(layout: ClusterPaths, cgroups: readonly string[]): Promise<void> {
  const mounts = await mountPoints();
  const inTheWay = mounts.filter(({ path }) => path.startsWith(`${layout.directory}/`));
  if (inTheWay.length > 0) {
    throw new Error(
      `not removed, since something is mounted there: ${inTheWay.map(({ path }) => path).join(', ')}`,
    );
  }
  for (const { path } of mounts.filter(({ type }) => type === 'cgroup' || type === 'cgroup2')) {
    for (const cgroup of cgroups) await removeCgroup(join(path, cgroup));
  }
  await detachDevices(layout.directory);
  await rm(layout.directory, { recursive: true, force: true });
}

/** Loop devices outlive the mount namespaces that they were mounted in. */
async function detachDevices(directory: string): Promise<void> {
  const listed = await runWell(['losetup', '--list', '--json', '--output', 'NAME,BACK-FILE']);
  if (listed.trim() === '') return;
  const { loopdevices } = JSON.parse(listed) as {
    loopdevices: { name: string; 'back-file': string | null }[];
  };
  for (const device of loopdevices) {
    if (device['back-file']?.startsWith(`${directory}/`) === true)
      await runWell(['losetup', '-d', device.name]);
  }
}

async function mountPoints(): Promise<{ path: string; type: string }[]> {
  const lines = (await readFile('/proc/self/mounts', 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const [, path = '', type = ''] = line.split(' ');
    return { path, type };
  });
}

/**
 * Removes a control group, the deepest first. A group is busy for a moment after its last process has exited.
 */
async function removeCgroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (entries === undefined) return;
  for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
  await until(`control group ${path} to be empty`, async () => {
    try {
      await rmdir(path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
      throw error;
    }
  });
}
