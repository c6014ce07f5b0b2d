import { Readable } from 'node:stream';
import { verifyBlob } from '../../blob.ts';
import { type Descriptor, type ImageSource, mediaTypes } from '../../image-source.ts';
import { digestOf } from './hostile-registry.ts';

const descriptorOf = (mediaType: string, bytes: Uint8Array): Descriptor => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
});

/**
 * Returns an image of these layers, in memory. `damaged` replaces the bytes of the first layer when they are
 * read.
 */
export function memoryImage(layers: readonly Buffer[], damaged?: Buffer): ImageSource {
  const configBytes = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', config: {} }));
  const config = descriptorOf(mediaTypes.config, configBytes);
  const descriptors = layers.map((layer) => descriptorOf(mediaTypes.gzipLayer, layer));
  const manifest = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers: descriptors }),
  );
  const contents = new Map([...layers, configBytes].map((bytes) => [digestOf(bytes), bytes]));
  if (damaged !== undefined && layers[0] !== undefined) contents.set(digestOf(layers[0]), damaged);
  return {
    manifest,
    descriptor: descriptorOf(mediaTypes.manifest, manifest),
    config,
    layers: descriptors,
    open: (blob) => {
      const bytes = contents.get(blob.digest) ?? Buffer.alloc(0);
      return Readable.from(verifyBlob(Readable.from(slices(bytes)), blob, 'the layer'), {
        objectMode: false,
      });
    },
  };
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}
