import { copyFile, cp, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { packRelease, type PackedRelease, type ReleaseOrigin } from '../bosh/release/pack-release.ts';
import { removeTree } from '../platform/remove-tree.ts';

export interface VolumesReleaseOptions {
  /** The directory of the checkout or of the installed package. */
  readonly root: string;
  /** The Node that runs the volume drivers and the broker. */
  readonly nodeBinary: string;
  readonly version: string;
  readonly outFile: string;
  readonly origin?: ReleaseOrigin;
  readonly signal?: AbortSignal;
}

/**
 * Packs the volume drivers and the broker of the last build (dist/volumes) with `release/volumes` and Node
 * into the archive of a release. Replaces an existing archive. The same input gives the same bytes.
 */
export async function packVolumesRelease({
  root,
  nodeBinary,
  ...options
}: VolumesReleaseOptions): Promise<PackedRelease> {
  const within = dirname(options.outFile);
  // The fixed name lets the next run replace what a killed run left.
  const directory = join(within, `.${basename(options.outFile)}.directory`);
  await removeTree(directory, { within });
  try {
    await cp(join(root, 'release', 'volumes'), directory, { recursive: true });
    const sources = join(directory, 'src', 'volume_services');
    await mkdir(sources, { recursive: true });
    const built = join(root, 'dist', 'volumes');
    for (const bundle of ['driver.mjs', 'broker.mjs'])
      await copyFile(join(built, bundle), join(sources, bundle));
    for (const name of ['LICENSE', 'NOTICE']) await copyFile(join(built, name), join(directory, name));
    await copyFile(nodeBinary, join(sources, 'node'));
    return await packRelease({ ...options, directory });
  } finally {
    await removeTree(directory, { within });
  }
}
