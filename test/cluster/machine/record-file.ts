import { readFile, rm } from 'node:fs/promises';
import type { ProcessRecord } from '../../../embedded-cluster/daemon/process-record.ts';
import { runs } from './proc.ts';
import { writeJson } from './write-whole.ts';

/** A started process and its definition. `up` restarts a process whose definition has changed. */
export interface Started extends ProcessRecord {
  readonly command: readonly string[];
}

export async function readRecord(path: string): Promise<Started | undefined> {
  try {
    const started = JSON.parse(await readFile(path, 'utf8')) as Started;
    return (await runs(started)) ? started : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function writeRecord(path: string, started: Started): Promise<void> {
  await writeJson(path, started);
}

export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
}
