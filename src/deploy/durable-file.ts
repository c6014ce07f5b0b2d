import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../errors/product-error.ts';

/**
 * Replaces the file as a whole: after a kill or a power cut the old or the new text is there, never a part.
 * Not for two writers of the same path at a time. FILE_NOT_WRITABLE where the system refuses it, as on a full disk.
 */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.new`;
  try {
    await writeNew(temporary, text, mode);
    await rename(temporary, path);
    await syncDirectory(dirname(path));
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

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Removes the file, durably; an absent one is fine. */
export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** Makes a directory that only its owner can enter; an existing one keeps its mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
