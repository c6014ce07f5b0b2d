import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentProperties } from '../bosh/stemcell/stemcell.ts';
import { packLightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import type { Descriptor } from '../oci/image-source.ts';
import { writeLayout } from '../oci/layout/write-layout.ts';
import type { BlobWriter } from '../oci/layout/write-blob.ts';
import { assertOutputFree, outputExists, createStagingDirectory } from './output-directory.ts';
import { writeFile } from '../platform/write-file.ts';

export interface StemcellIdentity {
  readonly name: string;
  readonly version: string;
  readonly operatingSystem: string;
  /** Reference of the image, without digest, under which nodes will pull it or already have it. */
  readonly image: string;
  readonly architecture: string;
  /** Which agent it has; empty for upstream's. */
  readonly agent: AgentProperties;
}

export interface PublishedStemcell extends StemcellIdentity {
  /** The folder in OCI layout. */
  readonly layout: string;
  /** The light stemcell archive. */
  readonly archive: string;
  readonly manifest: Descriptor;
}

export const layoutDirectory = 'image';
export const archiveFile = 'stemcell.tgz';

/** The parts of a stemcell. The BlobWriter has written all blobs that the manifest names. */
export interface StemcellParts extends StemcellIdentity {
  readonly manifest: Descriptor;
  /** More text files beside the image, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Writes a stemcell into a folder that appears as a whole or not at all: the image in OCI layout, the light
 * archive that names the image by digest, and the files. Rejects with FILE_EXISTS and the obstacle
 * (assertOutputFree), or with the signal's reason if it aborts before the folder appears. A killed run leaves
 * a folder beside the output; the next run replaces it.
 */
export async function publishStemcell(
  directory: string,
  signal: AbortSignal,
  make: (blobs: BlobWriter) => Promise<StemcellParts>,
): Promise<PublishedStemcell> {
  const path = await assertOutputFree(directory);
  const made = await createStagingDirectory(path);
  const partial = made.path;
  try {
    const { files, reference, ...parts } = await writeLayout(
      join(partial, layoutDirectory),
      async (blobs) => {
        const stemcell = await make(blobs);
        return { ...stemcell, reference: stemcell.image };
      },
    );
    const { name, version, operatingSystem, architecture, agent, manifest } = parts;
    for (const [file, content] of Object.entries(files)) await writeFile(join(partial, file), content);
    const cloudProperties = { architecture, ...agent };
    await packLightStemcell(
      {
        ...{ name, version, operatingSystem, cloudProperties },
        ...{ imageReference: reference, imageDigest: manifest.digest },
      },
      join(partial, archiveFile),
    );
    signal.throwIfAborted();
    await rename(partial, path);
    return { ...parts, layout: join(directory, layoutDirectory), archive: join(directory, archiveFile) };
  } catch (error) {
    await made.remove();
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY')) throw error;
    throw outputExists(`'${directory}' was written by another build in the meantime; remove it`);
  }
}
