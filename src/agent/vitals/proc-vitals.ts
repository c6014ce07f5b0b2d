/** The use of one kind of memory: kilobytes in use, and the share in percent, as texts. */
export interface MemoryUse {
  readonly kb: string;
  readonly percent: string;
}

/** Returns memory and swap in use, from /proc/meminfo. */
export function memoryUse(text: string): { readonly memory: MemoryUse; readonly swap: MemoryUse } {
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}: +([0-9]+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    memory: useOf(kilobytes('MemTotal'), kilobytes('MemAvailable')),
    swap: useOf(kilobytes('SwapTotal'), kilobytes('SwapFree')),
  };
}

/** Returns the shares of processor time since boot in percent with one decimal, from /proc/stat. */
export function cpuShares(text: string): {
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
