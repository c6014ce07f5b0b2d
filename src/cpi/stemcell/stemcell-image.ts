import { createHash } from 'node:crypto';
import { readFileBlob, verifyBlob } from '../../oci/blob.ts';
import { type Descriptor, mediaTypes } from '../../oci/image-source.ts';
import type { Layer } from '../../oci/layer/add-layer.ts';
import type { PushedImage } from '../../oci/registry/push-image.ts';
import { stemcellAnnotation } from './stemcell-annotation.ts';
import type { StemcellDescription } from './stemcell-description.ts';

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
        ? only(config)
        : verifyBlob(readFileBlob(imagePath), blob, file),
  };
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const encode = (value: object): Buffer => Buffer.from(JSON.stringify(value), 'utf8');

const descriptorOf = (mediaType: string, bytes: Buffer): Descriptor => ({
  mediaType,
  digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
  size: bytes.length,
});
