import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';
import { packLightStemcell, type LightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import { renameLayout } from '../oci/layout/layout-reference.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { archiveFile, layoutFolder } from './publish.ts';

/**
 * What the light archive in a folder of publishStemcell says, but its image; undefined where the folder has
 * none.
 */
export async function readPublished(
  folder: string,
): Promise<Omit<LightStemcell, 'imageReference' | 'imageDigest'> | undefined> {
  const archivePath = join(folder, archiveFile);
  if (!existsSync(archivePath) || !existsSync(join(folder, layoutFolder))) return undefined;
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
 * Has the image in OCI layout and the light archive name another image, as if the stemcell had been built
 * with that name. Resolves with the archive's path. Killed in between, each file is the old one or the new;
 * the same again completes it.
 */
export async function renamePublished(folder: string, stemcell: LightStemcell): Promise<string> {
  await renameLayout(join(folder, layoutFolder), stemcell.imageReference);
  const archive = join(folder, archiveFile);
  await packLightStemcell(stemcell, archive);
  return archive;
}
