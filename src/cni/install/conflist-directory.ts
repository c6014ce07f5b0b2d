import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { CniPaths } from './arguments.ts';
import { isSystemError } from './system-error.ts';

/** Our own file. Runtimes use the first one by name, compared byte by byte (containerd: go-cni, libcni ConfFiles). */
export const managedConflistName = '00-0-static-ip.conflist';

export interface Network {
  readonly file: string;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** The configuration that the runtime would use without us; undefined where there is none yet. */
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

/** Every configuration but ours, in the order in which a runtime looks at them: files alone, as libcni has it. */
export async function networkFiles(directory: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter(
    (name) => /\.(conf|conflist|json)$/u.test(name) && name !== managedConflistName,
  );
  // whoever opened a FIFO would wait for its writer
  const areFiles = await Promise.all(names.map((name) => isFile(join(directory, name))));
  return names.filter((_, index) => areFiles[index]).toSorted(byBytes);
}

/** Symbolic links are followed; one that leads nowhere is no file. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) return false;
    throw error;
  }
}

/** Undefined where the file went away meanwhile. */
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
