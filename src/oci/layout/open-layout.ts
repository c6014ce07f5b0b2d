import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { openForReading, readStream, readRegularFile } from '../../bosh/archive/open-for-reading.ts';
import { imageInvalid, parseDescriptor, parseObject, verifyBlob } from '../blob.ts';
import { type Descriptor, type ImageSource, mediaTypes } from '../image-source.ts';
import { join } from 'node:path';
import { isObject } from '../../platform/json.ts';

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
async function findManifest(directory: string, imageChoice: ImageChoice): Promise<Descriptor> {
  const path = layoutPaths.index(directory);
  let choice = selectManifest(parseObject(await readDocument(path), path)['manifests'], imageChoice, path);
  // Deeper nesting is rejected: no image needs it.
  for (let depth = 0; indexTypes.includes(choice.mediaType) && depth < 2; depth += 1) {
    const label = `index ${choice.digest}`;
    const inner = parseObject(await readBlob(directory, choice), label);
    choice = selectManifest(inner['manifests'], { platform: imageChoice.platform }, label);
  }
  if (!manifestTypes.includes(choice.mediaType))
    throw imageInvalid(`'${directory}' contains ${choice.mediaType}, which is not the manifest of an image`);
  return choice;
}

function openBlob(directory: string, blob: Descriptor): Readable {
  const path = layoutPaths.blob(directory, blob.digest);
  return Readable.from(verifyBlob(readStream(path, layoutError), blob, `'${path}'`), { objectMode: false });
}

async function readBlob(directory: string, blob: Descriptor): Promise<Buffer> {
  if (blob.size > documentLimit)
    throw imageInvalid(`${blob.digest} has ${blob.size} bytes, which is more than a manifest may have`);
  await checkSize(directory, blob);
  return buffer(openBlob(directory, blob));
}

async function checkSize(directory: string, { digest, size }: Descriptor): Promise<void> {
  const path = layoutPaths.blob(directory, digest);
  await using file = await openForReading(path, layoutError);
  const stats = await file.stat();
  if (stats.size !== size)
    throw imageInvalid(`'${path}' has ${stats.size} bytes instead of the ${size} in its descriptor`);
}

/** Reads index.json or oci-layout. Rejects with FILE_NOT_FOUND or IMAGE_INVALID. */
export async function readDocument(path: string): Promise<Buffer> {
  const bytes = await readRegularFile(path, documentLimit, layoutError);
  if (bytes === undefined) throw imageInvalid(`'${path}' is larger than 4 MiB`);
  return bytes;
}

function arrayField(value: unknown, label: string): readonly unknown[] {
  if (!Array.isArray(value)) throw imageInvalid(`${label} is not a list`);
  return value;
}

/** Files of an image layout (image-spec, image-layout.md). */
export const layoutPaths = {
  marker: (directory: string): string => join(directory, 'oci-layout'),
  index: (directory: string): string => join(directory, 'index.json'),
  blobs: (directory: string): string => join(directory, 'blobs', 'sha256'),
  /** `digest` must be validated: it becomes part of a path. */
  blob: (directory: string, digest: string): string =>
    join(directory, 'blobs', 'sha256', digest.slice('sha256:'.length)),
} as const;

export const layoutVersion = '1.0.0';
/** The annotation of a descriptor in index.json: the name or tag of the image. */
export const referenceName = 'org.opencontainers.image.ref.name';
/**
 * The same annotation of containerd, kind and docker save, with host and repository (containerd:
 * images/annotations.go).
 */
export const containerdName = 'io.containerd.image.name';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

export interface ImageChoice {
  /** The platform to choose if the image exists for several; default linux/amd64. */
  readonly platform?: Platform | undefined;
  /** The name to choose if there are several images with different names. */
  readonly reference?: string | undefined;
}

interface Entry {
  readonly descriptor: Descriptor;
  readonly names: readonly string[];
  readonly platform: string | undefined;
}

/**
 * Returns the one image in an index's `manifests`: if there are several, the one with the name and for the
 * platform, as far as they have names and platforms. If none or several match, IMAGE_INVALID names `label`
 * and lists the images. One image may be listed under several names.
 */
export function selectManifest(
  manifests: unknown,
  { platform, reference }: ImageChoice,
  label: string,
): Descriptor {
  if (!Array.isArray(manifests)) throw imageInvalid(`${label} has no list 'manifests'`);
  const entries = manifests.map((value: unknown, index): Entry => ({
    descriptor: parseDescriptor(value, `manifest ${index} of ${label}`),
    names: namesOf(value),
    platform: platformOf(value),
  }));
  const named = reference === undefined ? entries : entries.filter(({ names }) => names.includes(reference));
  const { os, architecture } = platform ?? { os: 'linux', architecture: 'amd64' };
  const requested = `${os}/${architecture}`;
  const fitting = named.length > 1 ? forPlatform(named, requested) : named;
  const different = new Map(fitting.map(({ descriptor }) => [descriptor.digest, descriptor]));
  const [only, ...others] = different.values();
  if (only !== undefined && others.length === 0) return only;
  const description = reference === undefined ? requested : `${requested} with the name '${reference}'`;
  const next = entries.some(({ names }) => names.length > 0) ? '; choose one with --reference NAME' : '';
  throw imageInvalid(
    `${label} has ${different.size} images for ${description} instead of one; there are: ${entries.map(shown).join(', ') || 'none'}${next}`,
  );
}

/** Returns the entries for this platform; if there are none, the entries without a platform. */
function forPlatform(entries: readonly Entry[], requested: string): readonly Entry[] {
  const those = entries.filter(({ platform }) => platform === requested);
  return those.length > 0 ? those : entries.filter(({ platform }) => platform === undefined);
}

/** Uses the longest name: docker save gives images of several repositories the same tag. */
const shown = ({ names, platform }: Entry): string =>
  [names.at(-1), platform].filter((word) => word !== undefined).join(' ') || 'unnamed';

/** Returns the names of an entry of an index. */
export function namesOf(entry: unknown): readonly string[] {
  const annotations = isObject(entry) ? entry['annotations'] : undefined;
  const names = [referenceName, containerdName].map((key) =>
    isObject(annotations) ? annotations[key] : undefined,
  );
  return names.filter((name) => typeof name === 'string');
}

function platformOf(value: unknown): string | undefined {
  const platform = isObject(value) ? value['platform'] : undefined;
  return isObject(platform) ? `${String(platform['os'])}/${String(platform['architecture'])}` : undefined;
}
