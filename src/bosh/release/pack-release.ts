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
  /** Or what makes it of the fingerprints of all jobs, packages and the license. */
  readonly version: string | ((fingerprints: readonly string[]) => string);
  /** Written whole or not at all. */
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
 * Makes the archive that `bosh create-release --tarball` makes, with the same fingerprints and without an
 * index; the same input gives the same bytes on the same platform. RELEASE_INVALID names what in the release
 * directory is wrong.
 */
export async function packRelease(options: PackReleaseOptions): Promise<PackedRelease> {
  const source = await readReleaseDirectory(options.directory);
  // Beside the archive and under the same name each time: what a killed run left is replaced by the next.
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
