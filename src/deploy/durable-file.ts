import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { removeTemporaryFiles } from '../platform/draft.ts';
import { replaceFile, syncDirectory } from '../platform/replace-file.ts';

/** replaceFile with FILE_NOT_WRITABLE where the system refuses it, as on a full disk. */
export async function writeDurably(path: string, text: string): Promise<void> {
  try {
    replaceFile(path, text, 0o600);
  } catch (error) {
    throw notWritable(path, error);
  }
}

/** The error of a write that the system refused; any other error as it is. */
export function notWritable(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  const message = `File '${path}' cannot be written and is as it was; mend that, and run the same command again`;
  return new ProductError('FILE_NOT_WRITABLE', message, { cause: error });
}

/** Removes the file, durably, with drafts that killed runs left of it; an absent one is fine. */
export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  removeTemporaryFiles(path);
  syncDirectory(dirname(path));
}

/** Makes a directory that only its owner can enter; an existing one keeps its mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}
