import { posix } from 'node:path';
import { rootPath } from '../../oci/tar/root-rules.ts';
import type { TarHeader } from '../../oci/tar/tar-header.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { RootTarOptions } from '../../oci/tar/check-root-tar.ts';

/** `target`: the target of a symbolic link; undefined for a program. */
interface Entry {
  readonly layer: number;
  readonly target: string | undefined;
}

/** Linux follows no more links than this (path_resolution(7)). */
const maxLinks = 40;
const deletion = '.wh.';
const opaque = '.wh..wh..opq';

/**
 * Programs and symbolic links of a root in layers. An upper layer may delete files of lower ones (image-spec,
 * layer.md).
 */
export class RootPrograms {
  readonly #found = new Map<string, Entry>();
  /** The highest layer that has deleted this path and everything below it. */
  readonly #deleted = new Map<string, number>();
  /** The highest layer that has deleted everything below this path. */
  readonly #emptied = new Map<string, number>();
  #layer = -1;

  nextLayer(): (path: string, entry: TarHeader) => void {
    this.#layer += 1;
    return (path, entry) => this.#addEntry(path, entry);
  }

  /** Returns whether a program exists. Links are followed inside the root. */
  has(path: string): boolean {
    let [location, rest, links] = ['', path.split('/'), 0];
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '' || name === '.') continue;
      location = name === '..' ? parentOf(location) : posix.join(location, name);
      const found = this.#at(location);
      if (found === undefined) continue;
      if (found.target === undefined) return rest.length === 0;
      links += 1;
      if (links > maxLinks) return false;
      rest = [...found.target.split('/'), ...rest];
      location = found.target.startsWith('/') ? '' : parentOf(location);
    }
    return false;
  }

  #addEntry(path: string, { type, mode, target }: TarHeader): void {
    const [directory, name] = [parentOf(path), posix.basename(path)];
    if (name === opaque) return void this.#emptied.set(directory, this.#layer);
    if (name.startsWith(deletion))
      return void this.#deleted.set(posix.join(directory, name.slice(deletion.length)), this.#layer);
    const found = this.#lookup(type, mode, target);
    if (found === undefined) this.#found.delete(path);
    else this.#found.set(path, found);
  }

  #lookup(type: string, mode: number, target: string): Entry | undefined {
    const layer = this.#layer;
    if (type === '2') return { layer, target };
    if (type === '1') {
      const linked = this.#at(rootPath(target));
      return linked && { ...linked, layer };
    }
    // Any execute bit counts, because the CPI runs the program as root.
    return '07'.includes(type) && (mode & 0o111) !== 0 ? { layer, target: undefined } : undefined;
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

/** Returns the parent of a path in the root without a leading `/`; the root is ''. */
function parentOf(path: string): string {
  const parent = posix.dirname(path);
  return parent === '.' ? '' : parent;
}

/** Inspects the entries of a root while it is read, and looks for the programs that a VM needs. */
export interface RootInspector {
  /**
   * Returns the function that must be called with each entry of the next layer. The lowest layer comes first.
   */
  nextLayer(): NonNullable<RootTarOptions['onEntry']>;
  /** Throws STEMCELL_INVALID, naming `what`, if the root has no executable agent or shell. */
  check(what: string): void;
}

/** The CPI starts these two (src/cpi/vm/scripts/entry.ts, pod.ts). */
const needed = ['/var/vcap/bosh/bin/bosh-agent', '/bin/sh'];

export function createRootInspector(): RootInspector {
  const programs = new RootPrograms();
  return {
    nextLayer: () => programs.nextLayer(),
    check: (what) => {
      const missing = needed.filter((path) => !programs.has(path)).map((path) => `program ${path}`);
      if (missing.length === 0) return;
      throw new ProductError(
        'STEMCELL_INVALID',
        `${what} is not the root of a BOSH VM: it has no ${missing.join(' and no ')}. To build a Debian stemcell with an agent, run: stemcell build --from-debian`,
      );
    },
  };
}
