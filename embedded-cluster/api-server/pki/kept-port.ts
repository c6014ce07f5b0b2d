import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../src/platform/durable-file.ts';

const fileOf = (directory: string): string => join(directory, 'port');

/** Returns the port of this cluster's server at its last start; 0 (any free port) at the first. */
export function readPort(directory: string): number {
  try {
    const text = readFileSync(fileOf(directory), 'utf8').trim();
    return /^\d{1,5}$/.test(text) ? Number(text) : 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Stores the port for the next start, so that kubeconfigs stay valid. Idempotent. */
export function writePort(directory: string, port: number): void {
  if (readPort(directory) !== port) replaceFile(fileOf(directory), Buffer.from(`${port}\n`));
}
