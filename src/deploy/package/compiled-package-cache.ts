import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyFile } from '../../bosh/digest.ts';
import { isProductError } from '../../errors/product-error.ts';
import { makePrivateDirectory, writeDurably } from '../durable-file.ts';
import { readJsonCache } from '../json-cache.ts';

/** Everything that determines the content of a package compiled on a VM. */
export interface CompiledPackageKey {
  readonly name: string;
  readonly fingerprint: string;
  readonly dependencyKey: string;
  /** Name and version of the stemcell that the package was compiled on. */
  readonly stemcell: string;
}

export interface CachedPackage {
  readonly path: string;
  /** Digest text. */
  readonly digest: string;
}

/** Compiled packages of earlier runs. An entry is used only while its file matches its digest. */
export class CompiledPackageCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(key: CompiledPackageKey): Promise<CachedPackage | undefined> {
    const digest = await readDigest(this.#record(key));
    if (digest === undefined) return undefined;
    const path = this.#archive(key);
    try {
      await verifyFile(path, digest);
      return { path, digest };
    } catch (error) {
      if (!isProductError(error)) throw error;
      await this.remove(key);
      return undefined;
    }
  }

  /** `fetch` writes the archive to the given path. */
  async add(key: CompiledPackageKey, digest: string, fetch: (path: string) => Promise<void>): Promise<void> {
    await makePrivateDirectory(this.#directory);
    const path = this.#archive(key);
    await fetch(path);
    await verifyFile(path, digest);
    await writeDurably(this.#record(key), `${JSON.stringify({ ...key, digest }, null, 2)}\n`);
  }

  async remove(key: CompiledPackageKey): Promise<void> {
    await rm(this.#record(key), { force: true });
    await rm(this.#archive(key), { force: true });
  }

  #record(key: CompiledPackageKey): string {
    return join(this.#directory, `${hash(key)}.json`);
  }

  #archive(key: CompiledPackageKey): string {
    return join(this.#directory, `${hash(key)}.tgz`);
  }
}

function hash(key: CompiledPackageKey): string {
  return createHash('sha256')
    .update(JSON.stringify([key.name, key.fingerprint, key.dependencyKey, key.stemcell]))
    .digest('hex');
}

async function readDigest(path: string): Promise<string | undefined> {
  const { digest } = ((await readJsonCache(path)) ?? {}) as { readonly digest?: unknown };
  return typeof digest === 'string' ? digest : undefined;
}

/**
 * Returns the names and fingerprints of all dependencies of a package, which also determine the result of
 * compiling it (bosh-cli state/pkg).
 */
export function dependencyKey(
  dependencies: readonly { readonly name: string; readonly fingerprint: string }[],
): string {
  return dependencies
    .map(({ name, fingerprint }) => `${name}:${fingerprint}`)
    .toSorted()
    .join(',');
}
