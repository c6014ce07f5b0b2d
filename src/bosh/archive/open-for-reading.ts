import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';

const unreadable: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'];

/** The file opened for reading; FILE_NOT_FOUND names it when it is not there or may not be read. */
export async function openForReading(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw fileNotFound(path, error) ?? error;
  }
}

/**
 * The ProductError for an error of node:fs that means the named file cannot be read; undefined for every other error.
 * `expected`: the digest by which to know the file, where somebody wrote one down.
 */
export function fileNotFound(path: string, error: unknown, expected?: string): ProductError | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (!unreadable.includes(code)) return undefined;
  const digest = expected === undefined ? '' : `, expected ${expected}`;
  return new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': ${String(code)}${digest}`, {
    cause: error,
  });
}
