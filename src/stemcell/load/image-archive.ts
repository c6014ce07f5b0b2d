import { type ArchiveEntry, streamTar } from '../../bosh/archive/pack-archive.ts';
import { type ImageName, formatImageName } from '../../oci/image-reference.ts';
import { type Descriptor, type ImageSource, mediaTypes } from '../../oci/image-source.ts';
import { containerdName, layoutVersion, referenceName } from '../../oci/layout/open-layout.ts';

/** Returns the name under which the CPI's VMs request the image. */
export function pinnedReference({ host, repository }: ImageName, { digest }: Descriptor): string {
  return `${host}/${repository}@${digest}`;
}

/**
 * Returns an image as the tar of an OCI layout, verified and made while it is read. The tar has the image
 * under two names, its tag and its digest, because a node has to find it under the name that a pod requests.
 */
export function imageArchive(image: ImageSource, name: ImageName): AsyncIterable<Uint8Array> {
  const { descriptor, config, layers, manifest } = image;
  const references = [formatImageName(name), pinnedReference(name, descriptor)];
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: references.map((reference) => ({
      ...descriptor,
      annotations: { [referenceName]: reference, [containerdName]: reference },
    })),
  };
  const blobs = new Map([config, ...layers].map((blob) => [blob.digest, blob]));
  return streamTar([
    { kind: 'directory', name: 'blobs/', mode: 0o755 },
    { kind: 'directory', name: 'blobs/sha256/', mode: 0o755 },
    content(blobPath(descriptor), manifest),
    ...[...blobs.values()].map((blob): ArchiveEntry => ({
      kind: 'stream',
      name: blobPath(blob),
      mode: 0o644,
      size: blob.size,
      open: () => image.open(blob) as AsyncIterable<Uint8Array>,
    })),
    content('index.json', JSON.stringify(index)),
    content('oci-layout', JSON.stringify({ imageLayoutVersion: layoutVersion })),
  ]);
}

const blobPath = ({ digest }: Descriptor): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;

const content = (name: string, text: string | Uint8Array): ArchiveEntry => ({
  kind: 'content',
  name,
  mode: 0o644,
  content: text,
});
