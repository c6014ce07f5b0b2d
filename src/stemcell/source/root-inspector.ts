import { posix } from 'node:path';
import { rootPath } from '../../oci/tar/root-rules.ts';
import type { TarHeader } from '../../oci/tar/tar-header.ts';
import type { TakeContent } from '../../oci/tar/tar-reader.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { RootTarOptions } from '../../oci/tar/check-root-tar.ts';
import { type OsRelease, osReleaseLimit, osReleasePaths, parseOsRelease } from './os-release.ts';

/** A program, a symbolic link, or a file whose content is known. */
interface Entry {
  readonly layer: number;
  /** The target of a symbolic link. */
  readonly target?: string;
  readonly isProgram?: boolean;
  /** The content of os-release, after its last byte was read. */
  content?: string;
}

/** Linux follows no more links than this (path_resolution(7)). */
const maxLinks = 40;
const deletion = '.wh.';
const opaque = '.wh..wh..opq';

/**
 * Programs, symbolic links and files os-release of a root in layers. An upper layer may delete files of lower
 * ones (image-spec, layer.md).
 */
export class RootFiles {
  readonly #found = new Map<string, Entry>();
  /** The highest layer that has deleted this path and everything below it. */
  readonly #deleted = new Map<string, number>();
  /** The highest layer that has deleted everything below this path. */
  readonly #emptied = new Map<string, number>();
  #layer = -1;

  nextLayer(): (path: string, entry: TarHeader) => TakeContent | undefined {
    this.#layer += 1;
    return (path, entry) => this.#addEntry(path, entry);
  }

  /** Returns whether a program exists. Links are followed inside the root. */
  hasProgram(path: string): boolean {
    return this.#resolve(path)?.isProgram === true;
  }

  /** Returns the content of a file os-release, or undefined. Links are followed inside the root. */
  contentOf(path: string): string | undefined {
    return this.#resolve(path)?.content;
  }

  #resolve(path: string): Entry | undefined {
    let [location, rest, links] = ['', path.split('/'), 0];
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '' || name === '.') continue;
      location = name === '..' ? parentOf(location) : posix.join(location, name);
      const found = this.#at(location);
      if (found === undefined) continue;
      if (found.target === undefined) return rest.length === 0 ? found : undefined;
      links += 1;
      if (links > maxLinks) return undefined;
      rest = [...found.target.split('/'), ...rest];
      location = found.target.startsWith('/') ? '' : parentOf(location);
    }
    return undefined;
  }

  #addEntry(path: string, entry: TarHeader): TakeContent | undefined {
    const [directory, name] = [parentOf(path), posix.basename(path)];
    if (name === opaque) return void this.#emptied.set(directory, this.#layer);
    if (name.startsWith(deletion))
      return void this.#deleted.set(posix.join(directory, name.slice(deletion.length)), this.#layer);
    const found = this.#lookup(entry, name);
    if (found === undefined) this.#found.delete(path);
    else this.#found.set(path, found);
    if (found === undefined || !isOsRelease(entry, name)) return undefined;
    return (content) => (found.content = content.toString('utf8'));
  }

  #lookup(entry: TarHeader, name: string): Entry | undefined {
    const layer = this.#layer;
    const { type, mode, target } = entry;
    if (type === '2') return { layer, target };
    if (type === '1') {
      const linked = this.#at(rootPath(target));
      return linked && { ...linked, layer };
    }
    // Any execute bit counts, because the CPI runs the program as root.
    const isProgram = isFile(type) && (mode & 0o111) !== 0;
    return isProgram || isOsRelease(entry, name) ? { layer, isProgram } : undefined;
  }

  /** Returns undefined if there is neither a program nor a link, or if an upper layer has deleted it. */
  #at(path: string): Entry | undefined {
    const found = this.#found.get(path);
    if (found === undefined) return undefined;
    const isDeleted = (from: number | undefined): boolean => from !== undefined && from > found.layer;
    if (isDeleted(this.#deleted.get(path))) return undefined;
    for (let ancestor = path; ancestor !== '';) {
      ancestor = parentOf(ancestor);
      if (isDeleted(this.#deleted.get(ancestor)) || isDeleted(this.#emptied.get(ancestor))) return undefined;
      if ((this.#found.get(ancestor)?.layer ?? -1) > found.layer) return undefined;
    }
    return found;
  }
}

const isFile = (type: string): boolean => '07'.includes(type);

const isOsRelease = ({ type, size }: TarHeader, name: string): boolean =>
  name === 'os-release' && isFile(type) && size <= osReleaseLimit;

/** Returns the parent of a path in the root without a leading `/`; the root is ''. */
function parentOf(path: string): string {
  const parent = posix.dirname(path);
  return parent === '.' ? '' : parent;
}

/**
 * Inspects the entries of a root while it is read: the programs that a VM needs, and the operating system
 * that os-release names.
 */
export interface RootInspector {
  /**
   * Returns the function that must be called with each entry of the next layer. The lowest layer comes first.
   */
  nextLayer(): NonNullable<RootTarOptions['onEntry']>;
  /** Throws STEMCELL_INVALID, naming `what`, if the root has no executable agent or shell. */
  check(what: string): void;
  /** Returns the operating system that the root says to be; undefined if it has no os-release. */
  osRelease(): OsRelease | undefined;
}

/** The CPI starts these two (src/cpi/vm/scripts/entry.ts, pod.ts). */
const needed = ['/var/vcap/bosh/bin/bosh-agent', '/bin/sh'];

export function createRootInspector(): RootInspector {
  const files = new RootFiles();
  return {
    nextLayer: () => files.nextLayer(),
    osRelease() {
      const text = osReleasePaths.map((path) => files.contentOf(path)).find((found) => found !== undefined);
      return text === undefined ? undefined : parseOsRelease(text);
    },
    check: (what) => {
      const missing = needed.filter((path) => !files.hasProgram(path)).map((path) => `program ${path}`);
      if (missing.length === 0) return;
      throw new ProductError(
        'STEMCELL_INVALID',
        `${what} is not the root of a BOSH VM: it has no ${missing.join(' and no ')}. To build a Debian stemcell with an agent, run: stemcell build --from-debian`,
      );
    },
  };
}
