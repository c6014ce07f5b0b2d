import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { packLightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import { ProductError } from '../errors/product-error.ts';
import type { Descriptor } from '../oci/image-source.ts';
import { writeLayout } from '../oci/layout/write-layout.ts';
import type { BlobWriter } from '../oci/layout/write-blob.ts';

export interface StemcellIdentity {
  readonly name: string;
  readonly version: string;
  readonly operatingSystem: string;
  /** Reference of the image, without digest, that nodes will pull or have been given. */
  readonly image: string;
  readonly architecture: string;
}

export interface PublishedStemcell extends StemcellIdentity {
  /** Folder in OCI layout. */
  readonly layout: string;
  /** Light stemcell archive. */
  readonly archive: string;
  readonly manifest: Descriptor;
}

export const layoutFolder = 'image';
export const archiveFile = 'stemcell.tgz';

/** What a stemcell consists of; all that the manifest names was written by the BlobWriter. */
export interface StemcellParts extends StemcellIdentity {
  readonly manifest: Descriptor;
  /** More text files beside the image, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Writes a stemcell into a folder that appears whole or not at all: the image in OCI layout, the light archive that names
 * it by digest, and the files. FILE_EXISTS where the folder holds something; the signal's reason where it is aborted before
 * the folder appears. A killed run leaves a folder beside it that the next one replaces.
 */
export async function publishStemcell(
  directory: string,
  signal: AbortSignal,
  make: (blobs: BlobWriter) => Promise<StemcellParts>,
): Promise<PublishedStemcell> {
  await refuseContent(directory);
  const partial = join(dirname(directory), `.${basename(directory)}.partial`);
  await rm(partial, { recursive: true, force: true });
  try {
    await mkdir(partial, { recursive: true });
    const { files, reference, ...parts } = await writeLayout(join(partial, layoutFolder), async (blobs) => {
      const made = await make(blobs);
      return { ...made, reference: made.image };
    });
    const { name, version, operatingSystem, architecture, manifest } = parts;
    for (const [file, content] of Object.entries(files)) await writeFile(join(partial, file), content);
    await packLightStemcell(
      {
        ...{ name, version, operatingSystem, cloudProperties: { architecture } },
        ...{ imageReference: reference, imageDigest: manifest.digest },
      },
      join(partial, archiveFile),
    );
    signal.throwIfAborted();
    await rename(partial, directory);
    return { ...parts, layout: join(directory, layoutFolder), archive: join(directory, archiveFile) };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/** FILE_EXISTS where the folder of a stemcell that is to be made holds something. */
export async function refuseContent(directory: string): Promise<void> {
  const content = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') return ['a file'];
    throw error;
  });
  if (content.length === 0) return;
  throw new ProductError(
    'FILE_EXISTS',
    `'${directory}' is there already and is not empty; remove it or name another folder with --output`,
  );
}
