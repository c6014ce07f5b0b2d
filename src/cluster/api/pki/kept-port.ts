import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../platform/replace-file.ts';

const fileOf = (directory: string): string => join(directory, 'port');

/** The port that this cluster's server had the last time; 0 (any free one) at the first. */
export function readPort(directory: string): number {
  try {
    const text = readFileSync(fileOf(directory), 'utf8').trim();
    return /^\d{1,5}$/.test(text) ? Number(text) : 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Keeps the port for the next start, so that kubeconfigs stay good. Idempotent. */
export function writePort(directory: string, port: number): void {
  if (readPort(directory) !== port) replaceFile(fileOf(directory), Buffer.from(`${port}\n`));
}
