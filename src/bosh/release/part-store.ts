import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { pathSegment, type PathSegment } from '../../platform/path-segment.ts';
import { digestOfFile } from '../digest.ts';
import { hasDigest, type LocalBlobstore } from './local-blobstore.ts';
import { PartIndex, type PartEntry } from './part-index.ts';
import { packPart, type PackedPart, type SourcePart } from './release-parts.ts';

export interface PartStoreOptions {
  readonly directory: string;
  /** The directory with archives by digest; the bosh CLI's is ~/.bosh/cache. */
  readonly cacheDirectory: string;
  /** The blobstore in config/final.yml, if it is a local one. */
  readonly blobstore: LocalBlobstore | undefined;
}

interface Archive {
  readonly digest: PathSegment;
  readonly path: string;
}

type PartName = Pick<SourcePart, 'kind' | 'name' | 'fingerprint'>;

/** The archives of a release directory's parts. A part is never packed twice, so its digest is stable. */
export class PartStore {
  readonly #dev: PartIndex;
  readonly #final: PartIndex;
  readonly #options: PartStoreOptions;

  constructor(options: PartStoreOptions) {
    this.#options = options;
    this.#dev = new PartIndex(join(options.directory, '.dev_builds'));
    this.#final = new PartIndex(join(options.directory, '.final_builds'));
  }

  /** Returns the part with its archive. Packs it, and records it in .dev_builds, if necessary. */
  async build(part: SourcePart): Promise<PackedPart> {
    const found = await this.find(part);
    if (found !== undefined) return withArchive(part, found);
    const archive = await this.#pack(part);
    await this.#dev.set(part, { digest: archive.digest, blobId: undefined });
    return withArchive(part, archive);
  }

  /**
   * Returns the part with its archive, stores the archive in the blobstore and records it in .final_builds.
   * Throws RELEASE_INVALID if the archive of an earlier final build is lost.
   */
  async finalize(part: SourcePart, blobstore: LocalBlobstore): Promise<PackedPart> {
    const entry = await this.#final.find(part);
    const final = entry && (await this.#findArchive(entry));
    if (final !== undefined) return withArchive(part, final);
    const dev = await this.#dev.find(part);
    const archive = (dev && (await this.#findArchive(dev))) ?? (await this.#pack(part));
    if (entry !== undefined && archive.digest !== entry.digest) throw lostPartError(part, entry.digest, archive.digest);
    const blobId = await blobstore.create(archive.path, archive.digest);
    await this.#final.set(part, { digest: archive.digest, blobId });
    return withArchive(part, archive);
  }

  /** Returns an available archive: from the cache, or from the blobstore, which copies it to the cache. */
  async find(part: PartName): Promise<Archive | undefined> {
    for (const index of [this.#dev, this.#final]) {
      const entry = await index.find(part);
      const archive = entry && (await this.#findArchive(entry));
      if (archive !== undefined) return archive;
    }
    return undefined;
  }

  async #findArchive({ digest, blobId }: PartEntry): Promise<Archive | undefined> {
    const { cacheDirectory, blobstore } = this.#options;
    const path = join(cacheDirectory, digest);
    if (await hasDigest(path, digest)) return { digest, path };
    if (blobId === undefined || blobstore === undefined || !(await blobstore.has(blobId, digest))) return undefined;
    await blobstore.get(blobId, digest, path);
    return { digest, path };
  }

  async #pack(part: SourcePart): Promise<Archive> {
    if (part.content === undefined) throw vendoredPartError(part);
    const { cacheDirectory } = this.#options;
    await mkdir(cacheDirectory, { recursive: true });
    // The name is fixed, so that the next run replaces what an interrupted run left.
    const packed = join(cacheDirectory, `.${part.kind}-${part.fingerprint}.tgz`);
    await packPart(part, part.content, { path: packed, isTemporary: false });
    const digest = pathSegment(await digestOfFile(packed));
    const path = join(cacheDirectory, digest);
    await rename(packed, path);
    return { digest, path };
  }
}

function withArchive({ kind, name, fingerprint, references }: SourcePart, archive: Archive): PackedPart {
  return { kind, name, fingerprint, references, ...archive };
}

function vendoredPartError({ name, fingerprint }: PartName): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `Package '${name}' is vendored (spec.lock), and its archive ${fingerprint} is neither in ~/.bosh/cache nor in a local blobstore; ` +
      "run 'bosh create-release' once, which downloads it",
  );
}

function lostPartError({ kind, name, fingerprint }: PartName, expected: string, found: string): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `The final build of ${kind} '${name}/${fingerprint}' has the digest ${expected} in .final_builds; its archive is neither in ~/.bosh/cache ` +
      `nor in a local blobstore, and packing it again gives ${found}. Restore the blobstore's file`,
  );
}
