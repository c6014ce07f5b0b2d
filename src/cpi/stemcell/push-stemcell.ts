import { stat } from 'node:fs/promises';
import { fileNotFound } from '../../bosh/archive/open-for-reading.ts';
import { verifyingStream } from '../../bosh/digest.ts';
import { ProductError } from '../../errors/product-error.ts';
import { readFileBlob, verifyBlob } from '../../oci/blob.ts';
import { addPackedLayer, type Layer } from '../../oci/layer/add-layer.ts';
import { pushImage, type PushedImage } from '../../oci/registry/push-image.ts';
import type { CallContext } from '../call.ts';
import type { RegistryConfig } from '../config/registry.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { withStemcellRegistry, stemcellAnnotation } from './remove-stemcell.ts';
import { describeStemcell, type StemcellDescription } from './stemcell-manifest.ts';
import { formatStemcellCid } from './stemcell-cid.ts';
import { createHash } from 'node:crypto';
import { type Descriptor, mediaTypes } from '../../oci/image-source.ts';
import type { BlobWriter } from '../../oci/layout/write-blob.ts';

export interface HeavyStemcell {
  /**
   * The file `image` of an unpacked stemcell: a root file system as a tar in gzip or zstd, which becomes a
   * layer unchanged.
   */
  readonly imagePath: string;
  /** cloud_properties. */
  readonly properties: JsonObject;
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
  call: CallContext,
  registry: RegistryConfig,
  { imagePath, properties, tags: given }: HeavyStemcell,
): Promise<string> {
  const tags = stemcellTags(given);
  await assertNotEmpty(imagePath);
  const description = await describeStemcell(imagePath, properties);
  const what = `the stemcell image '${imagePath}'`;
  const { digest: expectedDigest } = description;
  const bytes = readFileBlob(imagePath);
  const layer = await addPackedLayer(digestingBlobWriter, {
    bytes: expectedDigest === undefined ? bytes : verifyingStream(bytes, imagePath, expectedDigest),
    ...{ label: what, path: imagePath },
  });
  const id = call.newUuid();
  const image = stemcellImage({ layer, description, id, directorUuid: call.directorUuid, imagePath, tags });
  const tag = stemcellTag(description, id);
  return withStemcellRegistry(call, registry, async (client) => {
    const digest = await pushImage(client, image, {
      tag,
      onBlob: (blob, how) => {
        if (blob.digest === layer.descriptor.digest) call.log(`layer ${blob.digest}: ${how}`);
      },
    });
    const { architecture } = description;
    const pushed = `${registry.pullHost}/${registry.repository}@${digest}`;
    const cid = formatStemcellCid({ image: pushed, architecture });
    call.log(`${cid} has the tag ${tag}`);
    return cid;
  });
}

async function assertNotEmpty(imagePath: string): Promise<void> {
  const { size } = await stat(imagePath).catch((error: unknown) => {
    throw fileNotFound(imagePath, error) ?? error;
  });
  if (size > 0) return;
  throw new ProductError(
    'INVALID_ARGUMENT',
    `create_stemcell.cloud_properties has no image_reference, and the image '${imagePath}' is empty: a light stemcell needs an image_reference, a heavy one an image; download or build the stemcell again`,
  );
}

export interface NewStemcell {
  readonly layer: Layer;
  readonly description: StemcellDescription;
  /** Unique for this stemcell, so that it has a manifest of its own. */
  readonly id: string;
  readonly directorUuid: string | undefined;
  readonly imagePath: string;
  /** Annotations for the director's tags. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Returns the image of a heavy stemcell: its file, unchanged, is the only layer. */
export function stemcellImage(stemcell: NewStemcell): PushedImage {
  const { layer, description, id, directorUuid, imagePath, tags } = stemcell;
  const config = encode({
    architecture: description.architecture,
    os: 'linux',
    // kubelets reject an image without a config
    config: { Labels: { [stemcellAnnotation]: id } },
    rootfs: { type: 'layers', diff_ids: [layer.diffId] },
  });
  const configDescriptor = descriptorOf(mediaTypes.config, config);
  const manifest = encode({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: configDescriptor,
    layers: [layer.descriptor],
    annotations: {
      ...tags,
      [stemcellAnnotation]: id,
      'org.opencontainers.image.title': description.name,
      'org.opencontainers.image.version': description.version,
      ...(directorUuid !== undefined && { 'bosh.cloudfoundry.org/director': directorUuid }),
    },
  });
  const file = `the stemcell image '${imagePath}'`;
  return {
    manifest,
    descriptor: descriptorOf(mediaTypes.manifest, manifest),
    config: configDescriptor,
    layers: [layer.descriptor],
    open: (blob) =>
      blob.digest === configDescriptor.digest
        ? singleChunk(config)
        : verifyBlob(readFileBlob(imagePath), blob, file),
  };
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const encode = (value: object): Buffer => Buffer.from(JSON.stringify(value), 'utf8');

const descriptorOf = (mediaType: string, bytes: Buffer): Descriptor => ({
  mediaType,
  digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
  size: bytes.length,
});

/**
 * Returns the tag of a stemcell's manifest. It is for people, and keeps registries that collect untagged
 * manifests from deleting it. Its last part makes it unique, and it is a valid tag by distribution-spec (128
 * characters of a few kinds).
 */
export function stemcellTag({ name, version }: StemcellDescription, id: string): string {
  const title = `${name}-${version}`.replaceAll(/[^A-Za-z0-9_.-]+/gu, '-').replace(/^[.-]+/u, '');
  return `${title.slice(0, 128 - 1 - id.length)}-${id}`.replace(/^-/u, '');
}

const domain = 'bosh.cloudfoundry.org/tags.';

/**
 * Returns the annotations of a stemcell's manifest that keep the tags of create_stemcell's env. Their names
 * differ from those of the CPI and of the image format. Throws INVALID_ARGUMENT for a value that is not an
 * object.
 */
export function stemcellTags(given: unknown): Record<string, string> {
  const tags = new Field(given, 'create_stemcell.env.tags', 'INVALID_ARGUMENT').record();
  const annotations = Object.entries(tags).map(
    ([key, value]) => [`${domain}${key}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return Object.fromEntries(annotations);
}

/** A blob writer that computes digests and stores nothing, because the source of the blobs exists already. */
export const digestingBlobWriter: BlobWriter = {
  async add(mediaType, source) {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
    }
    return { mediaType, digest: `sha256:${hash.digest('hex')}`, size };
  },
};
