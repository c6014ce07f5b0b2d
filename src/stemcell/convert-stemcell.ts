import { basename } from 'node:path';
import { readStream } from '../bosh/archive/open-for-reading.ts';
import { type Layer, addPackedLayer, addTarLayer } from '../oci/layer/add-layer.ts';
import { ProductError } from '../errors/product-error.ts';
import { addImage } from '../oci/layout/add-image.ts';
import type { BlobWriter } from '../oci/layout/write-blob.ts';
import type { Architecture } from './build-settings.ts';
import {
  type IdentityRequest,
  type SourceMetadata,
  operatingSystemOf,
  resolveIdentity,
} from './resolve-identity.ts';
import { imageConfig, labelsOf } from './image-config.ts';
import { type PublishedStemcell, type StemcellParts, publishStemcell } from './write-stemcell.ts';
import { createRootInspector } from './source/root-inspector.ts';
import { copyLayout } from './source/copy-layout.ts';
import { type Source, findKind } from './source/detect-source-kind.ts';
import { collectGarbageWhileStreaming } from './source/stream-with-gc.ts';
import { streamStemcell } from './source/stream-stemcell.ts';

export interface ConversionRequest extends IdentityRequest {
  readonly source: string;
  readonly output: string;
  /**
   * The architecture of the root. A folder in OCI layout names it itself; if it has several images, this one
   * selects the image.
   */
  readonly architecture: Architecture;
  /** True if --architecture was given; then a layout without that architecture is an error. */
  readonly isArchitectureRequired?: boolean;
  /** Name of the image in a folder in OCI layout; absent if the folder has only one. */
  readonly reference?: string | undefined;
  /** Date of the image in seconds since 1970. */
  readonly epoch: number;
  /** Receives a sentence about a doubt that does not prevent the conversion. */
  readonly warn: (sentence: string) => void;
  /** An abort ends the conversion with the signal's reason and leaves nothing behind. */
  readonly signal: AbortSignal;
}

/**
 * Makes a stemcell from a heavy stemcell for containers (.tgz), from the tar of a root file system,
 * compressed or not, or from a folder in OCI layout. The source is read as a stream; it is neither kept in
 * memory nor unpacked. The same source gives the same image.
 */
export async function convertStemcell(request: ConversionRequest): Promise<PublishedStemcell> {
  const source = await findKind(request.source);
  if (source.kind !== 'layout' && request.reference !== undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${request.source}' is not a folder in OCI layout; --reference can be used only with one`,
    );
  return publishStemcell(request.output, request.signal, (blobs) => {
    switch (source.kind) {
      case 'layout':
        return fromLayout(blobs, request);
      case 'stemcell':
        return fromStemcell(blobs, request, source.compression);
      case 'root':
        return fromRoot(blobs, request, source.compression);
    }
  });
}

type Compressed = Exclude<Source, { kind: 'layout' }>;

async function fromLayout(blobs: BlobWriter, request: ConversionRequest): Promise<StemcellParts> {
  const { manifest, facts } = await copyLayout(blobs, request);
  return { ...resolveIdentity(request, facts, request.warn), manifest, files: {} };
}

async function fromStemcell(
  blobs: BlobWriter,
  request: ConversionRequest,
  compression: Compressed['compression'],
): Promise<StemcellParts> {
  const root = createRootInspector();
  const { manifest, image } = await streamStemcell(request.source, { compression }, (bytes) =>
    addPackedLayer(blobs, {
      bytes: collectGarbageWhileStreaming(bytes, request.signal),
      ...{ label: 'its image', path: 'image' },
      onEntry: root.nextLayer(),
    }),
  );
  root.check(`'${request.source}'`);
  return splitName(blobs, request, image, { ...manifest, osRelease: root.osRelease() });
}

async function fromRoot(
  blobs: BlobWriter,
  request: ConversionRequest,
  compression: Compressed['compression'],
): Promise<StemcellParts> {
  const what = `'${request.source}'`;
  const name = basename(request.source).replace(/(\.tar)?(\.(t?gz|t?zst))?$/, '') || 'stemcell';
  // A plain tar is not called by its operating system, so fail before reading all of it.
  operatingSystemOf(request, {});
  const root = createRootInspector();
  const bytes = collectGarbageWhileStreaming(readStream(request.source), request.signal);
  const source = { bytes, label: what, path: request.source, onEntry: root.nextLayer() };
  const layer = await (compression === 'none' ? addTarLayer(blobs, source) : addPackedLayer(blobs, source));
  root.check(what);
  return splitName(blobs, request, layer, { name, osRelease: root.osRelease() });
}

/**
 * Completes a stemcell with a root of one layer. Stock stemcells start /sbin/init if the container has no
 * command.
 */
async function splitName(
  blobs: BlobWriter,
  request: ConversionRequest,
  layer: Layer,
  facts: Pick<SourceMetadata, 'name' | 'version' | 'operatingSystem' | 'osRelease'>,
): Promise<StemcellParts> {
  const { architecture, warn } = request;
  const identity = resolveIdentity(request, { ...facts, content: layer.diffId, architecture }, warn);
  const config = imageConfig({
    layers: [{ ...layer, createdBy: 'bosh-kubernetes stemcell build' }],
    architecture,
    epoch: request.epoch,
    entrypoint: ['/sbin/init'],
    labels: labelsOf(identity),
  });
  return { ...identity, manifest: await addImage(blobs, { config, layers: [layer.descriptor] }), files: {} };
}
