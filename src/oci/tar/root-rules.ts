import { posix } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { BloomFilter } from './path-filter.ts';
import type { TarHeader } from './tar-header.ts';

/**
 * Character devices that every container provides, so that those of a root under /dev are never visible
 * (devices.txt of Linux).
 */
const allowedDevices: ReadonlyMap<string, string> = new Map([
  ['dev/null', '1:3'],
  ['dev/zero', '1:5'],
  ['dev/full', '1:7'],
  ['dev/random', '1:8'],
  ['dev/urandom', '1:9'],
  ['dev/tty', '5:0'],
  ['dev/console', '5:1'],
  ['dev/ptmx', '5:2'],
]);

/**
 * Checks the entries of a root's tar, one after the other. It remembers the names of symbolic links, and of
 * files in 4 MiB of memory.
 */
export class RootRules {
  readonly #links = new Set<string>();
  /** Undefined for a layer over others: the target of a hard link may be in one of them. */
  readonly #files: BloomFilter | undefined;

  /**
   * `isUpper`: this is a layer over others, which may delete files of them (image-spec, layer.md, whiteouts).
   */
  constructor(isUpper: boolean) {
    this.#files = isUpper ? undefined : new BloomFilter();
  }

  /** Throws ARCHIVE_INVALID, naming the entry, if a root must not contain it. */
  admit(entry: TarHeader): void {
    const path = rootPath(entry.name);
    const reason =
      this.#locationProblem(entry.name, path) ??
      (this.#files === undefined ? undefined : problemOfDeletion(path)) ??
      (entry.type === '1' ? this.#problemOfHardLink(entry) : problemOfType(entry, path));
    if (reason !== undefined)
      throw new ProductError('ARCHIVE_INVALID', `its entry '${entry.name}' ${reason}`);
    this.#remember(entry, path);
  }

  #remember({ type, target }: TarHeader, path: string): void {
    // A hard link to a symbolic link is a symbolic link, too.
    if (type === '2' || (type === '1' && this.#links.has(rootPath(target)))) this.#links.add(path);
    else this.#links.delete(path);
    if (type !== '5') this.#files?.add(path);
  }

  #locationProblem(name: string, path: string): string | undefined {
    if (!isInside(name)) return 'lies outside of the root';
    const link = this.#linkAbove(path);
    return link === undefined ? undefined : `lies below the symbolic link '${link}'`;
  }

  #problemOfHardLink({ target }: TarHeader): string | undefined {
    if (!isInside(target)) return `is a hard link to '${target}', outside of the root`;
    const path = rootPath(target);
    const link = this.#linkAbove(path);
    if (link !== undefined)
      return `is a hard link to '${target}', which lies below the symbolic link '${link}'`;
    // No runtime could create it.
    return this.#files === undefined || this.#files.has(path)
      ? undefined
      : `is a hard link to '${target}', which is not an earlier file of the tar`;
  }

  #linkAbove(path: string): string | undefined {
    for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent))
      if (this.#links.has(parent)) return parent;
    return undefined;
  }
}

function problemOfDeletion(path: string): string | undefined {
  return posix.basename(path).startsWith('.wh.')
    ? 'has a name that image layers treat as a deletion'
    : undefined;
}

function problemOfType({ type, major, minor }: TarHeader, path: string): string | undefined {
  switch (type) {
    case '0': // file
    case '7': // file
    case '5': // folder
    case '6': // named pipe
    case '2': // symbolic link
      return undefined;
    case '3':
      if (allowedDevices.get(path) === `${major}:${minor}`) return undefined;
      return `is a device node (character ${major}:${minor}); remove it from the root`;
    case '4':
      return `is a device node (block ${major}:${minor}); remove it from the root`;
    case 'S':
      return 'is a sparse file; make the tar without --sparse';
    default:
      return `is of a type ('${type}') that a root file system cannot have`;
  }
}

/** Returns true if the name is not absolute and does not lead out of the root at any point. */
function isInside(name: string): boolean {
  return name !== '' && !name.startsWith('/') && !name.split('/').includes('..') && !name.includes('\0');
}

/** Returns a name in a root's tar without a leading `./` or a trailing `/`; `.` is the root. */
export function rootPath(name: string): string {
  return posix.normalize(name).replace(/\/$/, '');
}
