import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { digestOfFile } from '../digest/verify-file.ts';
import { readReleaseDirectory } from './release-directory.ts';
import { packPart, sourceParts } from './release-parts.ts';
import type { PackedPart, SourcePart } from './release-parts.ts';
import { writeReleaseArchive } from './write-release-archive.ts';

export interface PackReleaseOptions {
  /** A BOSH release directory: config/final.yml, jobs/, packages/, src/, blobs/. */
  readonly directory: string;
  /** The version, or a function that makes it from the fingerprints of all jobs, packages and the license. */
  readonly version: string | ((fingerprints: readonly string[]) => string);
  /** The archive appears complete or not at all. */
  readonly outFile: string;
}

interface PackedReleasePart {
  readonly name: string;
  readonly fingerprint: string;
  readonly digest: string;
}

export interface PackedRelease {
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly PackedReleasePart[];
  readonly packages: readonly PackedReleasePart[];
}

/**
 * Creates the archive of `bosh create-release --tarball`, with the same fingerprints, but without an index.
 * The same input gives the same bytes on the same platform. Throws RELEASE_INVALID if the release directory
 * is invalid.
 */
export async function packRelease(options: PackReleaseOptions): Promise<PackedRelease> {
  const source = await readReleaseDirectory(options.directory);
  // The staging directory is beside the archive and has a fixed name, so that the next run replaces what an
  // interrupted run left.
  const staging = join(dirname(options.outFile), `.${basename(options.outFile)}.staging`);
  const within = dirname(options.outFile);
  await removeTree(staging, { within });
  await mkdir(staging, { mode: 0o700 });
  try {
    const parts: PackedPart[] = [];
    for (const part of await sourceParts(source)) parts.push(await packInto(staging, part));
    const { name } = source;
    const { version: given } = options;
    const version = typeof given === 'string' ? given : given(parts.map((part) => part.fingerprint));
    const origin = { commitHash: 'non-git', uncommittedChanges: false, noCompression: false };
    await writeReleaseArchive({ name, version, ...origin, parts }, source.license, options.outFile);
    return {
      name,
      version,
      jobs: parts.filter(({ kind }) => kind === 'job'),
      packages: parts.filter(({ kind }) => kind === 'package'),
    };
  } finally {
    await removeTree(staging, { within });
  }
}

async function packInto(staging: string, { content, ...part }: SourcePart): Promise<PackedPart> {
  if (content === undefined) throw vendored(part);
  const path = join(staging, `${part.kind}-${part.name}.tgz`);
  await packPart(part, content, { path, isTemporary: true });
  return { ...part, path, digest: await digestOfFile(path) };
}

function vendored({ name, fingerprint }: Pick<SourcePart, 'name' | 'fingerprint'>): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `Package '${name}' has a spec.lock: its archive ${fingerprint} is in an index; use 'bosh-kubernetes create-release'`,
  );
}
