import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';
import { packLightStemcell, type LightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import { renameLayout } from '../oci/layout/layout-reference.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { archiveFile, layoutDirectory } from './write-stemcell.ts';

/**
 * Returns the metadata of the light archive in a folder of publishStemcell, without its image; undefined if
 * the folder has no archive.
 */
export async function readPublished(
  output: string,
): Promise<Omit<LightStemcell, 'imageReference' | 'imageDigest'> | undefined> {
  const archivePath = join(output, archiveFile);
  if (!existsSync(archivePath) || !existsSync(join(output, layoutDirectory))) return undefined;
  const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-stemcell-'));
  try {
    const directory = join(scratch, 'stemcell');
    const opened = await openStemcell({ archivePath, directory, within: scratch });
    const { name, version, operatingSystem = '', formats } = opened;
    const { image_reference: _, digest: __, ...cloudProperties } = opened.cloudProperties;
    return { name, version, operatingSystem, formats, cloudProperties };
  } finally {
    await removeTree(scratch, { within: tmpdir() });
  }
}

/**
 * Renames the image in the OCI layout and in the light archive, as if the stemcell had been built with that
 * name. Returns the archive's path. After a kill, each file is the old or the new one; the same call
 * completes the renaming.
 */
export async function renamePublished(directory: string, stemcell: LightStemcell): Promise<string> {
  await renameLayout(join(directory, layoutDirectory), stemcell.imageReference);
  const archive = join(directory, archiveFile);
  await packLightStemcell(stemcell, archive);
  return archive;
}
