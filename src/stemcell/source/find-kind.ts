import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { archiveLimits, limitedTo } from '../../bosh/archive/archive-limits.ts';
import { fileNotFound, openForReading } from '../../bosh/archive/open-for-reading.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { rootPath } from '../../oci/tar/root-rules.ts';
import { tarInvalid } from '../../oci/tar/tar-header.ts';
import type { TarHeader } from '../../oci/tar/tar-header.ts';
import { TarReader } from '../../oci/tar/tar-reader.ts';

/** What a stemcell can be made from. */
export type SourceKind = 'layout' | 'stemcell' | 'stemcell-tar' | 'root-tar' | 'root-tar-gz';

/** Tells by the content, not by the name. FILE_NOT_FOUND, INVALID_ARGUMENT or ARCHIVE_INVALID for what is none of them. */
export async function findKind(path: string): Promise<SourceKind> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileNotFound(path, error) ?? error;
  });
  if (found.isDirectory()) return 'layout';
  // opening a pipe waits for who writes it
  if (!found.isFile())
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${path}' is no regular file, and is looked into before it is read: save it as one first`,
    );
  const isGzip = await startsAsGzip(path);
  const content = await contentOf(path, isGzip);
  if (content === 'stemcell') return isGzip ? 'stemcell' : 'stemcell-tar';
  return isGzip ? 'root-tar-gz' : 'root-tar';
}

async function startsAsGzip(path: string): Promise<boolean> {
  await using file = await openForReading(path);
  const start = Buffer.alloc(2);
  await file.read(start, 0, 2, 0);
  return start[0] === 0x1f && start[1] === 0x8b;
}

/** A stemcell archive has some six files, the image among them; a root of which as many come first is none. */
const looked = 32;

/** By the first entry that says it: a stemcell archive has flat files alone, of which two have known names; a root has folders. */
function kindOf({ name, type }: TarHeader, seen: number): 'stemcell' | 'root' | undefined {
  const inner = rootPath(name);
  if (inner === '.') return undefined;
  const isFile = type === '0' || type === '7';
  if (isFile && (inner === 'stemcell.MF' || inner === 'image')) return 'stemcell';
  return !isFile || inner.includes('/') || seen >= looked ? 'root' : undefined;
}

async function contentOf(path: string, isGzip: boolean): Promise<'stemcell' | 'root'> {
  await using opened = await openForReading(path);
  const file = opened.createReadStream({ autoClose: false });
  let plain: Readable = file;
  if (isGzip) {
    const gunzip = createGunzip();
    file.on('error', (error) => gunzip.destroy(error));
    plain = file.pipe(gunzip);
  }
  let [seen, kind]: [number, 'stemcell' | 'root' | undefined] = [0, undefined];
  const reader = new TarReader((entry) => {
    seen += 1;
    kind ??= kindOf(entry, seen);
  });
  const limited = limitedTo(archiveLimits.total, (excess) => tarInvalid(`it unpacks to ${excess}`));
  try {
    for await (const chunk of limited(plain)) {
      reader.write(chunk);
      if (kind !== undefined) return kind;
    }
    reader.end();
  } catch (error) {
    throw explain(path, error);
  } finally {
    file.destroy();
  }
  if (seen > 0) return 'root';
  throw new ProductError('ARCHIVE_INVALID', `'${path}' is an empty tar`);
}

function explain(path: string, error: unknown): unknown {
  const isTar = isProductError(error, 'ARCHIVE_INVALID');
  const isZlib = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
  if (!isTar && !isZlib) return error;
  return new ProductError(
    'ARCHIVE_INVALID',
    `'${path}' is neither a stemcell (.tgz) nor the tar of a root file system nor a folder in OCI layout: ${(error as Error).message}`,
    { cause: error },
  );
}
