import { readFile, statfs } from 'node:fs/promises';
import type { Directories } from '../directories.ts';
import { mountAt, type MountTable } from '../disk/mount-table.ts';

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
    if (path === '/' || mountAt(table, path) !== undefined) use[name] = await readUsage(path);
  }
  return use;
}

async function readUsage(
  path: string,
): Promise<{ readonly percent: string; readonly inode_percent: string }> {
  const { blocks, bavail, files, ffree } = await statfs(path);
  return { percent: percentUsed(blocks, bavail), inode_percent: percentUsed(files, ffree) };
}

function percentUsed(total: number, free: number): string {
  return total === 0 ? '0' : String(Math.round(((total - free) / total) * 100));
}

/** The use of one kind of memory: kilobytes in use, and the share in percent, as texts. */
export interface MemoryUse {
  readonly kb: string;
  readonly percent: string;
}

/** Returns memory and swap in use, from /proc/meminfo. */
function memoryUse(text: string): { readonly memory: MemoryUse; readonly swap: MemoryUse } {
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}: +([0-9]+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    memory: useOf(kilobytes('MemTotal'), kilobytes('MemAvailable')),
    swap: useOf(kilobytes('SwapTotal'), kilobytes('SwapFree')),
  };
}

/** Returns the shares of processor time since boot in percent with one decimal, from /proc/stat. */
function cpuShares(text: string): {
  readonly user: string;
  readonly sys: string;
  readonly wait: string;
} {
  const ticks = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').map(Number);
  const [user = 0, nice = 0, system = 0, , wait = 0] = ticks;
  const total = ticks.slice(0, 8).reduce((sum, value) => sum + value, 0);
  const share = (value: number): string => (total === 0 ? '0.0' : ((value / total) * 100).toFixed(1));
  return { user: share(user + nice), sys: share(system), wait: share(wait) };
}

function useOf(total: number, free: number): MemoryUse {
  const used = Math.max(0, total - free);
  return { kb: String(used), percent: total === 0 ? '0' : String(Math.round((used / total) * 100)) };
}
