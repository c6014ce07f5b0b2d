import { mkdir, readdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { type Descriptor, mediaTypes } from '../image-source.ts';
import { layoutPaths, layoutVersion, referenceName } from './open-layout.ts';
import { type BlobWriter, blobWriter } from './write-blob.ts';
import { writeFile } from '../../platform/write-file.ts';

/** The image in a layout. The BlobWriter has written its manifest and all blobs that the manifest names. */
export interface LayoutEntry {
  readonly manifest: Descriptor;
  /** The name of the image in index.json. */
  readonly reference: string;
  readonly architecture: string;
}

/**
 * Writes an image as a folder in OCI layout. The folder must be empty or must not exist; otherwise rejects
 * with FILE_EXISTS. `make` writes the blobs and returns the image. A folder is a layout only with index.json,
 * which is written last: after a failure the folder is removed, and after a kill it cannot be opened. The
 * same image gives the same bytes.
 */
export async function writeLayout<Entry extends LayoutEntry>(
  directory: string,
  make: (blobs: BlobWriter) => Promise<Entry>,
): Promise<Entry> {
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0)
    throw new ProductError('FILE_EXISTS', `'${directory}' is not empty; name a folder that does not exist`);
  try {
    await mkdir(layoutPaths.blobs(directory), { recursive: true });
    const made = await make(blobWriter(directory));
    await writeFile(layoutPaths.marker(directory), JSON.stringify({ imageLayoutVersion: layoutVersion }));
    const unfinished = `${layoutPaths.index(directory)}.tmp`;
    await writeFile(unfinished, indexOf([made]), { flag: 'wx', flush: true });
    await rename(unfinished, layoutPaths.index(directory));
    return made;
  } catch (error) {
    await removeTree(directory, { within: dirname(directory) });
    throw error;
  }
}

/** Returns the text of an index.json with these images. */
function indexOf(entries: readonly LayoutEntry[]): string {
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: entries.map(({ manifest, reference, architecture }) => ({
      ...manifest,
      annotations: { [referenceName]: reference },
      platform: { os: 'linux', architecture },
    })),
  });
}
