import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { CniPaths } from './arguments.ts';
import { isSystemError } from './system-error.ts';

/**
 * The file that this program writes. Runtimes use the first file by name, compared byte by byte (containerd:
 * go-cni, libcni ConfFiles).
 */
export const managedConflistName = '00-0-static-ip.conflist';

export interface Network {
  readonly file: string;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** Returns the configuration that the runtime would use without ours; undefined if there is none yet. */
export async function wrappedNetwork({
  conflistDirectory,
  conflist,
}: CniPaths): Promise<Network | undefined> {
  const names = await networkFiles(conflistDirectory);
  const file = conflist === undefined ? names[0] : names.find((name) => name === conflist);
  if (file === undefined) return undefined;
  const [first = file] = names;
  if (byBytes(first, managedConflistName) < 0)
    throw new ProductError(
      'STATIC_IP_NOT_INSTALLED',
      `${first} comes before ${managedConflistName}, so the runtime would not use it: rename ${first}`,
    );
  return readNetwork(conflistDirectory, file);
}

/**
 * Returns all configuration files except ours, in the order in which a runtime reads them. Only regular files
 * count, as in libcni.
 */
export async function networkFiles(directory: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter(
    (name) => /\.(conf|conflist|json)$/u.test(name) && name !== managedConflistName,
  );
  // opening a FIFO would wait for its writer
  const areFiles = await Promise.all(names.map((name) => isFile(join(directory, name))));
  return names.filter((_, index) => areFiles[index]).toSorted(byBytes);
}

/** True for a regular file. Symbolic links are followed; a dangling one is not a file. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) return false;
    throw error;
  }
}

/** Reads a configuration; undefined if the file was deleted in the meantime. */
export async function readNetwork(directory: string, file: string): Promise<Network | undefined> {
  const path = join(directory, file);
  try {
    const [text, { mode }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    return { file, text, mode: mode & 0o777 };
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const byBytes = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right));
