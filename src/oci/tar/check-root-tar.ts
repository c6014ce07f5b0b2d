import { posix } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { TarHeader } from './tar-header.ts';
import { TarReader } from './tar-reader.ts';

/** Character devices that every container has of its own, so that those of a root under /dev are never seen (devices.txt of Linux). */
const ownDevices: ReadonlyMap<string, string> = new Map([
  ['dev/null', '1:3'],
  ['dev/zero', '1:5'],
  ['dev/full', '1:7'],
  ['dev/random', '1:8'],
  ['dev/urandom', '1:9'],
  ['dev/tty', '5:0'],
  ['dev/console', '5:1'],
  ['dev/ptmx', '5:2'],
]);

export interface RootTarOptions {
  /** Told each path in the tar, without `./` before and `/` behind it. */
  readonly onPath?: ((path: string) => void) | undefined;
  /** A layer over others, which may delete what they have (image-spec, layer.md, whiteouts). */
  readonly isUpper?: boolean;
}

/**
 * Passes the tar of a root file system on while looking at it. ARCHIVE_INVALID, naming `what` and the entry, for names
 * that are absolute or leave the root, entries below a symbolic link, hard links to outside, device nodes other than a
 * container's own, names that an image layer reads as deletions, sparse files, and a tar that is damaged or cut off.
 * Symbolic links may point anywhere: they are followed inside the root only.
 */
export async function* checkRootTar(
  source: AsyncIterable<Uint8Array>,
  what: string,
  { onPath, isUpper = false }: RootTarOptions = {},
): AsyncGenerator<Uint8Array> {
  const links = new Set<string>();
  const reader = new TarReader((entry) => {
    admit(entry, links, isUpper);
    onPath?.(inner(entry.name));
  });
  try {
    for await (const chunk of source) {
      reader.write(chunk);
      yield chunk;
    }
    reader.end();
  } catch (error) {
    if (!isProductError(error, 'ARCHIVE_INVALID')) throw error;
    throw new ProductError(error.code, `${what}: ${error.message}`, { cause: error });
  }
}

function admit(entry: TarHeader, links: Set<string>, mayDelete: boolean): void {
  const path = inner(entry.name);
  const reason =
    problemOfPlace(entry.name, path, links) ??
    (mayDelete ? undefined : problemOfDeletion(path)) ??
    problemOfType(entry, path);
  if (reason !== undefined) throw new ProductError('ARCHIVE_INVALID', `its entry '${entry.name}' ${reason}`);
  if (entry.type === '2') links.add(path);
  else links.delete(path);
}

function problemOfPlace(name: string, path: string, links: ReadonlySet<string>): string | undefined {
  if (!isInside(name)) return 'lies outside of the root';
  for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent))
    if (links.has(parent)) return `lies below the symbolic link '${parent}'`;
  return undefined;
}

function problemOfDeletion(path: string): string | undefined {
  return posix.basename(path).startsWith('.wh.') ? 'would be read as a deletion by image layers' : undefined;
}

function problemOfType({ type, target, major, minor }: TarHeader, path: string): string | undefined {
  switch (type) {
    case '0': // file
    case '7': // file
    case '5': // folder
    case '6': // named pipe
    case '2': // symbolic link
      return undefined;
    case '1':
      return isInside(target) ? undefined : `is a hard link to '${target}', outside of the root`;
    case '3':
      if (ownDevices.get(path) === `${major}:${minor}`) return undefined;
      return `is a device node (character ${major}:${minor}); remove it from the root`;
    case '4':
      return `is a device node (block ${major}:${minor}); remove it from the root`;
    case 'S':
      return 'is a sparse file; make the tar without --sparse';
    default:
      return `is of a type ('${type}') that a root file system cannot have`;
  }
}

/** Neither absolute nor, at any point of it, above the root. */
function isInside(name: string): boolean {
  return name !== '' && !name.startsWith('/') && !name.split('/').includes('..') && !name.includes('\0');
}

function inner(name: string): string {
  return posix.normalize(name).replace(/\/$/, '');
}
