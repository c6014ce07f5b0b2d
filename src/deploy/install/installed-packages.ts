import { writeDurably } from '../durable-file.ts';
import { readJsonCache } from '../json-cache.ts';

/** Everything that determines the content of an installed package. */
export interface PackageKey {
  readonly name: string;
  readonly fingerprint: string;
  readonly dependencyKey: string;
}

/**
 * Lists the complete packages in the packages directory, so that a later run neither compiles nor unpacks
 * them again. bosh keeps archives and unpacks them in each run (compiled_packages.json), which takes a second
 * or more for a CPI of 100 MB.
 */
export class InstalledPackages {
  readonly #path: string;
  #keys: readonly PackageKey[];

  private constructor(path: string, keys: readonly PackageKey[]) {
    this.#path = path;
    this.#keys = keys;
  }

  static async open(path: string): Promise<InstalledPackages> {
    return new InstalledPackages(path, await readKeys(path));
  }

  has(key: PackageKey): boolean {
    return this.#keys.some((known) => isSame(known, key));
  }

  async add(key: PackageKey): Promise<void> {
    await this.#write([...this.#keys.filter(({ name }) => name !== key.name), key]);
  }

  /**
   * Must be called before a package's directory is touched: after a kill, a partial package must not count as
   * complete.
   */
  async forget(name: string): Promise<void> {
    if (this.#keys.every((key) => key.name !== name)) return;
    await this.#write(this.#keys.filter((key) => key.name !== name));
  }

  async #write(keys: readonly PackageKey[]): Promise<void> {
    await writeDurably(this.#path, `${JSON.stringify(keys, null, 2)}\n`);
    this.#keys = keys;
  }
}

async function readKeys(path: string): Promise<PackageKey[]> {
  const value = await readJsonCache(path);
  return Array.isArray(value) ? value.filter(isKey) : [];
}

function isKey(value: unknown): value is PackageKey {
  if (typeof value !== 'object' || value === null) return false;
  const { name, fingerprint, dependencyKey } = value as Partial<PackageKey>;
  return [name, fingerprint, dependencyKey].every((part) => typeof part === 'string');
}

function isSame(one: PackageKey, other: PackageKey): boolean {
  return (
    one.name === other.name &&
    one.fingerprint === other.fingerprint &&
    one.dependencyKey === other.dependencyKey
  );
}
