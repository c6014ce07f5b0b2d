import { readFile } from 'node:fs/promises';
import type { BpmProcessConfig } from './bpm-config.ts';

// The limit that bpm's own script sets (bpm-release: jobs/bpm/templates/bpm).
const usualOpenFiles = 524_288;

/**
 * Returns the arguments of prlimit(1) for a process. No limit is above the hard limit of this process,
 * because in a pod no process can raise it. The memory limit applies to writable memory (RLIMIT_DATA), since
 * runtimes reserve far more address space than they use.
 */
export async function resourceLimits(config: BpmProcessConfig): Promise<readonly string[]> {
  const own = await readFile('/proc/self/limits', 'utf8');
  const limit = (option: string, name: string, wanted: number): string => {
    const value = Math.min(wanted, hardLimitOf(own, name));
    return `--${option}=${value}:${value}`;
  };
  return [
    limit('nofile', 'Max open files', config.openFiles ?? usualOpenFiles),
    limit('core', 'Max core file size', config.coreFileBytes ?? 0),
    ...(config.memoryBytes === undefined ? [] : [limit('data', 'Max data size', config.memoryBytes)]),
  ];
}

/** Returns the hard limit of that name in /proc/self/limits, or Infinity if there is none. */
export function hardLimitOf(limits: string, name: string): number {
  const line = limits.split('\n').find((text) => text.startsWith(name)) ?? '';
  const [, hard = ''] = line.slice(name.length).trim().split(/\s+/);
  return /^[0-9]+$/.test(hard) ? Number(hard) : Infinity;
}
