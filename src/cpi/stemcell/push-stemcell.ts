import { stat } from 'node:fs/promises';
import { fileNotFound } from '../../bosh/archive/open-for-reading.ts';
import { verifyingStream } from '../../bosh/digest/verify-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import { readFileBlob } from '../../oci/blob.ts';
import { addPackedLayer } from '../../oci/layer/add-layer.ts';
import { pushImage } from '../../oci/registry/push-image.ts';
import type { CallContext } from '../cloud.ts';
import type { RegistryConfig } from '../config/registry.ts';
import type { Json } from '../input.ts';
import { digestOnly } from './digest-only.ts';
import { withRegistry } from './open-stemcell-registry.ts';
import { describeStemcell } from './stemcell-description.ts';
import { stemcellImage } from './stemcell-image.ts';
import { formatStemcellCid } from './stemcell-cid.ts';
import { stemcellTag } from './stemcell-tag.ts';
import { stemcellTags } from './stemcell-tags.ts';

export interface HeavyStemcell {
  /**
   * The file `image` of an unpacked stemcell: a root file system as a tar in gzip or zstd, which becomes a
   * layer unchanged.
   */
  readonly imagePath: string;
  /** cloud_properties. */
  readonly properties: Json;
  /** The tags in the env, which a director of version 3 sends. */
  readonly tags: unknown;
}

/**
 * Publishes a heavy stemcell and returns its cid, `<pull host>/<repository>@<digest>#<architecture>`. The
 * whole archive is checked before the first request to the registry. It is read again, and verified, if its
 * layer does not exist there yet. The manifest comes last, so that a killed call leaves only blobs that no
 * manifest names. Each call makes a manifest of its own: deleting a stemcell never deletes the image of
 * another one, even if the content is the same. No temporary files.
 */
export async function pushStemcell(
  cloud: CallContext,
  registry: RegistryConfig,
  { imagePath, properties, tags: given }: HeavyStemcell,
): Promise<string> {
  const tags = stemcellTags(given);
  await refuseEmpty(imagePath);
  const description = await describeStemcell(imagePath, properties);
  const what = `the stemcell image '${imagePath}'`;
  const { digest: wanted } = description;
  const bytes = readFileBlob(imagePath);
  const layer = await addPackedLayer(digestOnly, {
    bytes: wanted === undefined ? bytes : verifyingStream(bytes, imagePath, wanted),
    ...{ what, path: imagePath },
  });
  const id = cloud.newUuid();
  const image = stemcellImage({ layer, description, id, directorUuid: cloud.directorUuid, imagePath, tags });
  const tag = stemcellTag(description, id);
  return withRegistry(cloud, registry, async (client) => {
    const digest = await pushImage(client, image, {
      tag,
      onBlob: (blob, how) => {
        if (blob.digest === layer.descriptor.digest) cloud.log(`layer ${blob.digest}: ${how}`);
      },
    });
    const { architecture } = description;
    const pushed = `${registry.pullHost}/${registry.repository}@${digest}`;
    const cid = formatStemcellCid({ image: pushed, architecture });
    cloud.log(`${cid} has the tag ${tag}`);
    return cid;
  });
}

async function refuseEmpty(imagePath: string): Promise<void> {
  const { size } = await stat(imagePath).catch((error: unknown) => {
    throw fileNotFound(imagePath, error) ?? error;
  });
  if (size > 0) return;
  throw new ProductError(
    'INVALID_ARGUMENT',
    `create_stemcell.cloud_properties has no image_reference, and the image '${imagePath}' is empty: a light stemcell has the one, a heavy one the other; download or build the stemcell again`,
  );
}
