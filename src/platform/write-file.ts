import { writeFile as writeFileUnnamed } from 'node:fs/promises';
import type { Abortable } from 'node:events';
import type { Mode, OpenMode } from 'node:fs';

/** Codes of a failed write to a file that could be opened: no space, quota, maximum size, a device error. */
const unnamed = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);

/**
 * Adds the path to the error of a write to that file (or below that folder), as Node does for other calls: a
 * write knows only its descriptor. Returns any other error unchanged, also that of a read: what is written is
 * often read from another file.
 */
export function withPath(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && unnamed.has(String(error.code)))) return error;
  if (!('syscall' in error) || error.syscall === 'read' || 'path' in error) return error;
  return Object.assign(error, { path, message: `${error.message} '${path}'` });
}

/** Runs a write to that file; an error names the file (withPath). */
export async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw withPath(path, error);
  }
}

/** Node's writeFile, with errors that name the file. */
export function writeFile(
  path: string,
  content: string | Uint8Array,
  options: { readonly mode?: Mode; readonly flag?: OpenMode; readonly flush?: boolean } & Abortable = {},
): Promise<void> {
  return writing(path, () => writeFileUnnamed(path, content, options));
}
