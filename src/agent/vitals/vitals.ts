import { readFile, statfs } from 'node:fs/promises';
import type { Directories } from '../directories.ts';
import { mountAt } from '../disk/mount-table.ts';
import type { MountTable } from '../disk/mount-table.ts';
import { cpuShares, memoryUse } from './proc-vitals.ts';

/**
 * Returns the VM's vitals in the form of `get_state full` (bosh-agent: platform/vitals/vitals.go). Numbers
 * are texts.
 */
export async function readVitals(
  directories: Directories,
  mounts: MountTable,
): Promise<Record<string, unknown>> {
  const memory = memoryUse(await readFile('/proc/meminfo', 'utf8'));
  const load = (await readFile('/proc/loadavg', 'utf8')).split(' ').slice(0, 3);
  const uptime = Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]);
  return {
    cpu: cpuShares(await readFile('/proc/stat', 'utf8')),
    disk: await diskUse(directories, mounts),
    load,
    mem: memory.memory,
    swap: memory.swap,
    uptime: { secs: Math.floor(uptime) },
  };
}

async function diskUse(directories: Directories, mounts: MountTable): Promise<Record<string, unknown>> {
  const table = await mounts.list();
  const paths = { system: '/', ephemeral: directories.data, persistent: directories.store };
  const use: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(paths)) {
    if (path === '/' || mountAt(table, path) !== undefined) use[name] = await usageOf(path);
  }
  return use;
}

async function usageOf(path: string): Promise<{ readonly percent: string; readonly inode_percent: string }> {
  const { blocks, bavail, files, ffree } = await statfs(path);
  return { percent: percentUsed(blocks, bavail), inode_percent: percentUsed(files, ffree) };
}

function percentUsed(total: number, free: number): string {
  return total === 0 ? '0' : String(Math.round(((total - free) / total) * 100));
}
