import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../../../src/platform/durable-file.ts';

/** Writes a file of mode 0600 atomically, and creates its directory. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, content);
}

/** Writes a value as JSON, atomically. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeWhole(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
