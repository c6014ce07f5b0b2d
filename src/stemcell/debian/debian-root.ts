import { createHash } from 'node:crypto';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import type { ImageSource } from '../../oci/image-source.ts';
import { addTarLayer, type Layer } from '../../oci/layer/add-layer.ts';
import { imageInvalid, parseObject } from '../../oci/blob.ts';
import { addImage } from '../../oci/layout/add-image.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import { writeLayout } from '../../oci/layout/write-layout.ts';
import type { Architecture } from '../build-settings.ts';
import { newestEntry, partialEntry, removeLeftovers } from './root-cache.ts';
import { type RootRequest, requestKey } from './root-request.ts';
import { type MmdebstrapContext, checkMachine, listPackages, makeRoot } from './run-mmdebstrap.ts';

/** A Debian root, which is the only layer of an image. */
export interface DebianRoot extends Layer {
  readonly image: ImageSource;
  /** One package per line: name, version, architecture. */
  readonly packages: string;
}

export interface CacheOptions {
  readonly directory: string;
  /**
   * Take the newest cached root for the same request, without a request to the mirrors for newer packages.
   */
  readonly isOffline: boolean;
  /** The architecture of this machine; mmdebstrap makes the root for it. */
  readonly architecture: Architecture;
  readonly log: (line: string) => void;
}

/**
 * Returns the root for a request: from the cache, if it has one with the packages that the mirrors have now,
 * otherwise a new one. An entry of the cache is a folder that appears as a whole; a damaged entry is made
 * again.
 */
export async function debianRoot(
  request: RootRequest,
  { directory, isOffline, architecture, log }: CacheOptions,
  context: MmdebstrapContext,
): Promise<DebianRoot> {
  const key = await requestKey(request);
  await mkdir(directory, { recursive: true });
  await removeLeftovers(directory);
  if (isOffline) {
    const newest = await newestEntry(directory, key);
    const root = newest === undefined ? undefined : await openCacheEntry(newest);
    if (root !== undefined) return root;
    log('The cache does not contain this root, so the mirrors are queried');
  }
  await checkMachine(context);
  log(`Querying the mirrors for the packages of Debian ${request.suite}`);
  const list = createHash('sha256').update(await listPackages(request, context));
  const entry = join(directory, `${key}-${list.digest('hex').slice(0, 16)}`);
  const cached = await openCacheEntry(entry);
  if (cached !== undefined) {
    log(`This root is in the cache: ${entry}`);
    return cached;
  }
  log(`Making Debian ${request.suite} with mmdebstrap, which takes about a minute`);
  await buildCacheEntry(entry, { ...request, architecture }, context);
  const made = await openCacheEntry(entry);
  if (made === undefined)
    throw new ProductError(
      'STEMCELL_BUILD_FAILED',
      `'${entry}' was removed or damaged right after it was written: check that disk, then build again`,
    );
  return made;
}

const imageDirectory = 'image';
const packagesFile = 'packages.txt';

/**
 * Opens an entry of the cache. Returns undefined if it does not exist or is damaged; a damaged entry is
 * removed. For this check the layer is read to its end, which takes a second: otherwise a damage would appear
 * only in the middle of a build, and again in each later one.
 */
async function openCacheEntry(entry: string): Promise<DebianRoot | undefined> {
  try {
    const image = await openLayout(join(entry, imageDirectory));
    const config = parseObject(await buffer(image.open(image.config)), 'config of a cached root');
    const packages = await readFile(join(entry, packagesFile), 'utf8');
    const [descriptor] = image.layers;
    const diffId = config['diffId'];
    if (descriptor === undefined || typeof diffId !== 'string' || packages === '')
      throw imageInvalid(`'${entry}' lacks a layer, its digest or its packages`);
    await pipeline(image.open(descriptor), new Writable({ write: (_chunk, _encoding, done) => done() }));
    return { image, descriptor, diffId, packages };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing && !isProductError(error)) throw error;
    await removeTree(entry, { within: dirname(entry) });
    return undefined;
  }
}

async function buildCacheEntry(
  entry: string,
  { architecture, ...request }: RootRequest & { readonly architecture: Architecture },
  context: MmdebstrapContext,
): Promise<void> {
  const partial = partialEntry(entry);
  await mkdir(partial, { recursive: true });
  try {
    const list = join(partial, packagesFile);
    await writeLayout(join(partial, imageDirectory), async (blobs) => {
      const { stdout, ended } = makeRoot(request, list, context);
      const [layer, making] = await Promise.allSettled([
        // If adding the layer fails, nothing reads the pipe any more, and mmdebstrap would block on it.
        addTarLayer(blobs, { bytes: stdout, label: 'the root that mmdebstrap makes' }).finally(() =>
          stdout.destroy(),
        ),
        ended,
      ]);
      // If mmdebstrap ended by itself, its message explains a truncated tar better. Otherwise it ended
      // because adding the layer failed.
      if (making.status === 'rejected' && (layer.status === 'fulfilled' || stdout.readableEnded))
        throw making.reason;
      if (layer.status === 'rejected') throw layer.reason;
      const { diffId, descriptor } = layer.value;
      const manifest = await addImage(blobs, { config: { diffId }, layers: [descriptor] });
      return { manifest, reference: request.suite, architecture };
    });
    await rename(partial, entry);
  } catch (error) {
    await removeTree(partial, { within: dirname(entry) });
    // Another build of the same root was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY')) throw error;
  }
}
