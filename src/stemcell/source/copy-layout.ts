import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ProductError } from '../../errors/product-error.ts';
import { imageInvalid, parseObject } from '../../oci/blob.ts';
import { copyImage } from '../../oci/layout/add-image.ts';
import { copyLayer } from '../../oci/layer/copy-layer.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import type { BlobWriter } from '../../oci/layout/write-blob.ts';
import { type Architecture, architectures } from '../build-settings.ts';
import type { SourceMetadata } from '../resolve-identity.ts';
import { stemcellLabels } from '../image-config.ts';
import { collectGarbageWhileStreaming } from './stream-with-gc.ts';
import { createRootInspector } from './root-inspector.ts';
import type { Descriptor, ImageSource } from '../../oci/image-source.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';

export interface CopiedLayout {
  readonly manifest: Descriptor;
  readonly facts: SourceMetadata;
}

export interface LayoutRequest {
  readonly source: string;
  readonly architecture: Architecture;
  readonly isArchitectureRequired?: boolean;
  /** Name of the image in the layout; absent if there is only one. */
  readonly reference?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Copies the image of a folder in OCI layout, so that it stays the same image, and checks every layer at the
 * same time. If there are several images, it takes the one for the architecture. If there is only one, it
 * must be for the architecture that --architecture gave (INVALID_ARGUMENT); without --architecture, for any
 * architecture with stemcells (IMAGE_INVALID).
 */
export async function copyLayout(
  blobs: BlobWriter,
  {
    source: directory,
    architecture: requested,
    isArchitectureRequired = false,
    reference,
    signal,
  }: LayoutRequest,
): Promise<CopiedLayout> {
  const opened = await openLayout(directory, {
    platform: { os: 'linux', architecture: requested },
    reference,
  });
  const image: ImageSource = {
    ...opened,
    open: (blob) =>
      Readable.from(collectGarbageWhileStreaming(opened.open(blob), signal), { objectMode: false }),
  };
  const what = `config of '${directory}'`;
  const config = parseObject(await buffer(image.open(image.config)), what);
  const { os } = config;
  const architecture = architectures.find((known) => known === config['architecture']);
  // Its cid could not name the architecture, and the stemcell would be sent to nodes of every architecture.
  if (os !== 'linux' || architecture === undefined)
    throw imageInvalid(
      `'${directory}' has an image for ${String(os)}/${String(config['architecture'])}, but stemcells are for ${architectures.join(' and ')} under linux: name a layout with such an image`,
    );
  if (isArchitectureRequired && architecture !== requested)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${directory}' has one image, for ${architecture}, but --architecture requests ${requested}`,
    );
  const diffIds = isObject(config['rootfs']) ? config['rootfs']['diff_ids'] : undefined;
  if (!Array.isArray(diffIds) || diffIds.length !== image.layers.length)
    throw imageInvalid(
      `${what} does not list the digests of its ${image.layers.length} layers (rootfs.diff_ids)`,
    );
  const root = createRootInspector();
  for (const [index, layer] of image.layers.entries()) {
    const expected = { diffId: String(diffIds[index]), onEntry: root.nextLayer(), isUpper: index > 0 };
    await copyLayer(blobs, image, layer, expected);
  }
  root.check(`'${directory}'`);
  const facts = {
    ...factsOf(config),
    ...{ content: image.descriptor.digest, architecture, osRelease: root.osRelease() },
  };
  return { manifest: await copyImage(blobs, image), facts };
}

/** Returns what the labels of an image say about the stemcell from which it was made. */
function factsOf(config: JsonObject): Pick<SourceMetadata, 'name' | 'version' | 'operatingSystem' | 'agent'> {
  const labels = isObject(config['config']) ? config['config']['Labels'] : undefined;
  const label = (key: string): string | undefined => {
    const value = isObject(labels) ? labels[key] : undefined;
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [agent, bus] = [label(stemcellLabels.agent), label(stemcellLabels.agentBus)];
  return {
    name: label(stemcellLabels.name) ?? 'stemcell',
    version: label(stemcellLabels.version),
    operatingSystem: label(stemcellLabels.operatingSystem),
    agent: { ...(agent !== undefined && { agent }), ...(bus !== undefined && { agent_bus: bus }) },
  };
}
