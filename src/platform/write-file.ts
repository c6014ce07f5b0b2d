import { writeFile as writeFileUnnamed } from 'node:fs/promises';
import type { Abortable } from 'node:events';
import type { Mode, OpenMode } from 'node:fs';

/** Of a write that failed although the file could be opened: no room, quota, largest size, a device that fails. */
const unnamed = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);

/**
 * The error of a write of that file (or below that folder), with its path, as Node gives it to the errors of other calls: a
 * write has a descriptor alone. Any other error is answered as it is.
 */
export function withPath(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && unnamed.has(String(error.code)))) return error;
  if (!('syscall' in error) || 'path' in error) return error;
  return Object.assign(error, { path, message: `${error.message} '${path}'` });
}

/** Runs a write of that file; its error names the file (withPath). */
export async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw withPath(path, error);
  }
}

/** Node's writeFile, whose error names the file. */
export function writeFile(
  path: string,
  content: string | Uint8Array,
  options: { readonly mode?: Mode; readonly flag?: OpenMode; readonly flush?: boolean } & Abortable = {},
): Promise<void> {
  return writing(path, () => writeFileUnnamed(path, content, options));
}
