import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';
import { readLightImage } from '../cpi/stemcell/create-stemcell.ts';
import { architectureIn, type Architecture } from '../cpi/stemcell/stemcell-cid.ts';
import { ProductError } from '../errors/product-error.ts';
import { Field } from '../platform/field.ts';
import { removeTree } from '../platform/remove-tree.ts';

export interface StemcellImage {
  /** The reference of the image, as the VMs of the stemcell have it. */
  readonly image: string;
  /** Undefined: not known. */
  readonly architecture: Architecture | undefined;
}

/**
 * Reads the image that VMs of a light stemcell get. Rejects with FILE_NOT_FOUND, STEMCELL_INVALID or
 * ARCHIVE_INVALID, also for a heavy stemcell, whose image no node can have.
 */
export async function readStemcellImage(archivePath: string): Promise<StemcellImage> {
  const within = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-doctor-'));
  try {
    const { cloudProperties } = await openStemcell({
      archivePath,
      directory: join(within, 'stemcell'),
      within,
    });
    const place = `cloud_properties of stemcell '${archivePath}'`;
    const image = readLightImage(new Field(cloudProperties, place, 'STEMCELL_INVALID'));
    if (image !== undefined) return { image, architecture: architectureIn(cloudProperties['architecture']) };
    throw new ProductError(
      'STEMCELL_INVALID',
      `Stemcell '${archivePath}' is heavy: it names no image that nodes can run; make a light one of it with 'bosh-kubernetes stemcell build'`,
    );
  } finally {
    await removeTree(within, { within: tmpdir() });
  }
}
