import { stat, type FileHandle } from 'node:fs/promises';
import { archiveLimits, limitedTo, type ArchiveLimits } from '../../bosh/archive/archive-limits.ts';
import { compressionIn, unreadCompression } from '../../bosh/archive/compression.ts';
import { ImageTarGuess, imageTarProblem, type ImageTar } from '../../bosh/archive/image-tar.ts';
import { fileNotFound, openForReading } from '../../bosh/archive/open-for-reading.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { decompressed, isDecompressionError } from '../../oci/layer/decompressed.ts';
import { rootPath } from '../../oci/tar/root-rules.ts';
import { tarInvalid, type TarHeader } from '../../oci/tar/tar-header.ts';
import { TarReader } from '../../oci/tar/tar-reader.ts';

/** The possible sources of a stemcell: a folder in OCI layout, or a file, which may be compressed. */
export type Source =
  | { readonly kind: 'layout' }
  | { readonly kind: 'stemcell' | 'root'; readonly compression: 'none' | 'gzip' | 'zstd' };

/**
 * Detects the kind of a source by its content, not by its name. Rejects with FILE_NOT_FOUND, INVALID_ARGUMENT
 * or ARCHIVE_INVALID if it is none of them. The tar of a container image is INVALID_ARGUMENT; the error says
 * how to convert it to a folder in OCI layout.
 */
export async function findKind(path: string, limits: ArchiveLimits = archiveLimits): Promise<Source> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileNotFound(path, error) ?? error;
  });
  if (found.isDirectory()) return { kind: 'layout' };
  // Opening a pipe would wait for a writer.
  if (!found.isFile())
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${path}' must be a regular file, because it is inspected before it is read: save it as a file first`,
    );
  await using file = await openForReading(path);
  const compression = await compressionIn(file);
  if (compression === 'xz' || compression === 'bzip2')
    throw unreadCompression(compression, `'${path}'`, path);
  const kind = await detectContent(path, file, { compression, limits });
  if (kind === 'oci-archive' || kind === 'docker-archive')
    throw new ProductError('INVALID_ARGUMENT', `${imageTarProblem(kind, path)}; then name that folder`);
  return { kind, compression };
}

type Content = 'stemcell' | 'root' | ImageTar;

/**
 * A stemcell archive has about six files, including the image. An archive with this many entries and no known
 * name among them is not a stemcell.
 */
const maxEntries = 32;

/**
 * Detects the content by the first distinctive entry: a stemcell archive has only files at the top level, two
 * of them with known names; a root has folders.
 */
class ContentGuess {
  kind: Content | undefined;
  #seen = 0;
  readonly #image = new ImageTarGuess();

  add({ name, type }: TarHeader): void {
    this.#seen += 1;
    const inner = rootPath(name);
    if (this.kind !== undefined || inner === '.' || this.#image.mayHave(inner)) return;
    const isFile = type === '0' || type === '7';
    if (isFile && (inner === 'stemcell.MF' || inner === 'image')) this.kind = 'stemcell';
    else if (!isFile || inner.includes('/') || this.#seen >= maxEntries) this.kind = 'root';
  }

  /** Must be called when the tar has ended. Returns undefined for an empty tar. */
  end(): Content | undefined {
    return this.kind ?? this.#image.kind ?? (this.#seen > 0 ? 'root' : undefined);
  }
}

async function detectContent(
  path: string,
  opened: FileHandle,
  { compression, limits }: { readonly compression: 'none' | 'gzip' | 'zstd'; readonly limits: ArchiveLimits },
): Promise<Content> {
  const file = opened.createReadStream({ start: 0, autoClose: false });
  const guess = new ContentGuess();
  const reader = new TarReader((entry) => {
    guess.add(entry);
    return undefined;
  });
  const limited = limitedTo(limits.total, (excess) => tarInvalid(`it unpacks to ${excess}`));
  try {
    for await (const chunk of limited(decompressed(file, compression, 'it'))) {
      reader.write(chunk);
      if (guess.kind !== undefined) return guess.kind;
    }
    reader.end();
  } catch (error) {
    throw explain(path, error);
  } finally {
    file.destroy();
  }
  const kind = guess.end();
  if (kind !== undefined) return kind;
  throw new ProductError('ARCHIVE_INVALID', `'${path}' is an empty tar`);
}

function explain(path: string, error: unknown): unknown {
  const isTar = isProductError(error, 'ARCHIVE_INVALID');
  if (!isTar && !isDecompressionError(error)) return error;
  return new ProductError(
    'ARCHIVE_INVALID',
    `'${path}' is neither a stemcell (.tgz) nor the tar of a root file system nor a folder in OCI layout: ${error.message}`,
    { cause: error },
  );
}
