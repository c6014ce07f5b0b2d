import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { openForReading, readStream, readRegularFile } from '../../bosh/archive/open-for-reading.ts';
import { imageInvalid, parseDescriptor, parseObject } from '../blob/parse-descriptor.ts';
import { verifyBlob } from '../blob/verify-blob.ts';
import type { Descriptor, ImageSource } from '../image-source.ts';
import { mediaTypes } from '../media-types.ts';
import { type ImageChoice, selectManifest } from './choose-image.ts';
import { layoutPaths, layoutVersion } from './layout-paths.ts';

const manifestTypes: readonly string[] = [mediaTypes.manifest, mediaTypes.dockerManifest];
const indexTypes: readonly string[] = [mediaTypes.index, mediaTypes.dockerIndex];
/** Registries reject larger manifests, too (distribution-spec, 4 MiB). */
const documentLimit = 4 * 1024 * 1024;
/**
 * A layout may come from an untrusted source: its symlinks could lead to any file of the operator. `cp -rL`
 * makes a copy without symlinks.
 */
export const layoutError = { noFollow: true } as const;

/**
 * Opens a folder in OCI layout (image-spec, image-layout.md). Checks that every blob exists and has the right
 * size; each digest is checked while the blob is read. IMAGE_INVALID, FILE_NOT_FOUND or DIGEST_MISMATCH name
 * the file and the problem. Writes nothing.
 */
export async function openLayout(directory: string, choice: ImageChoice = {}): Promise<ImageSource> {
  const marker = parseObject(
    await readDocument(layoutPaths.marker(directory)),
    layoutPaths.marker(directory),
  );
  if (marker['imageLayoutVersion'] !== layoutVersion)
    throw imageInvalid(`'${directory}' is not an OCI layout of version ${layoutVersion}`);
  const descriptor = await findManifest(directory, choice);
  const manifest = await readBlob(directory, descriptor);
  const content = parseObject(manifest, `manifest ${descriptor.digest}`);
  const config = parseDescriptor(content['config'], `config of ${descriptor.digest}`);
  const layers = arrayField(content['layers'], `layers of ${descriptor.digest}`).map((layer, index) =>
    parseDescriptor(layer, `layer ${index} of ${descriptor.digest}`),
  );
  for (const blob of [config, ...layers]) await checkSize(directory, blob);
  return { manifest, descriptor, config, layers, open: (blob) => openBlob(directory, blob) };
}

/** Follows index.json, and indexes in it, to the manifest of one image. */
async function findManifest(directory: string, wanted: ImageChoice): Promise<Descriptor> {
  const path = layoutPaths.index(directory);
  let choice = selectManifest(parseObject(await readDocument(path), path)['manifests'], wanted, path);
  // Deeper nesting is rejected: no image needs it.
  for (let depth = 0; indexTypes.includes(choice.mediaType) && depth < 2; depth += 1) {
    const what = `index ${choice.digest}`;
    const inner = parseObject(await readBlob(directory, choice), what);
    choice = selectManifest(inner['manifests'], { platform: wanted.platform }, what);
  }
  if (!manifestTypes.includes(choice.mediaType))
    throw imageInvalid(`'${directory}' holds ${choice.mediaType}, which is not the manifest of an image`);
  return choice;
}

function openBlob(directory: string, blob: Descriptor): Readable {
  const path = layoutPaths.blob(directory, blob.digest);
  return Readable.from(verifyBlob(readStream(path, layoutError), blob, `'${path}'`), { objectMode: false });
}

async function readBlob(directory: string, blob: Descriptor): Promise<Buffer> {
  if (blob.size > documentLimit) throw imageInvalid(`${blob.digest} has ${blob.size} bytes: no manifest has`);
  await checkSize(directory, blob);
  return buffer(openBlob(directory, blob));
}

async function checkSize(directory: string, { digest, size }: Descriptor): Promise<void> {
  const path = layoutPaths.blob(directory, digest);
  await using file = await openForReading(path, layoutError);
  const found = await file.stat();
  if (found.size !== size)
    throw imageInvalid(`'${path}' does not have the ${size} bytes of its descriptor, but ${found.size}`);
}

/** Reads index.json or oci-layout. Rejects with FILE_NOT_FOUND or IMAGE_INVALID. */
export async function readDocument(path: string): Promise<Buffer> {
  const bytes = await readRegularFile(path, documentLimit, layoutError);
  if (bytes === undefined) throw imageInvalid(`'${path}' is larger than 4 MiB`);
  return bytes;
}

function arrayField(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw imageInvalid(`${what} is not a list`);
  return value;
}
