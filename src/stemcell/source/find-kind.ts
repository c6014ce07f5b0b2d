import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fileNotFound, openForReading } from '../../bosh/archive/open-for-reading.ts';
import { entryName } from '../../bosh/archive/unpack-archive.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { TarReader } from '../../oci/tar/tar-reader.ts';

/** What a stemcell can be made from. */
export type SourceKind = 'layout' | 'stemcell' | 'root-tar' | 'root-tar-gz';

/** Files beside the image in a stemcell archive; a root has folders there. */
const stemcellFiles: readonly string[] = [
  ...['stemcell.MF', 'image', 'packages.txt', 'dev_tools_file_list.txt', 'sbom.spdx.json', 'sbom.cdx.json'],
];

/** Tells by the content, not by the name. FILE_NOT_FOUND or ARCHIVE_INVALID for what is none of them. */
export async function findKind(path: string): Promise<SourceKind> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileNotFound(path, error) ?? error;
  });
  if (found.isDirectory()) return 'layout';
  const isGzip = await startsAsGzip(path);
  const first = await firstEntry(path, isGzip);
  if (isGzip && stemcellFiles.includes(first)) return 'stemcell';
  return isGzip ? 'root-tar-gz' : 'root-tar';
}

async function startsAsGzip(path: string): Promise<boolean> {
  await using file = await openForReading(path);
  const start = Buffer.alloc(2);
  await file.read(start, 0, 2, 0);
  return start[0] === 0x1f && start[1] === 0x8b;
}

/** Name of the first entry that is not the root folder itself. */
async function firstEntry(path: string, isGzip: boolean): Promise<string> {
  const file = createReadStream(path);
  let plain: Readable = file;
  if (isGzip) {
    const gunzip = createGunzip();
    file.on('error', (error) => gunzip.destroy(error));
    plain = file.pipe(gunzip);
  }
  let first: string | undefined;
  const reader = new TarReader(({ name }) => {
    const inner = entryName(name);
    if (inner !== '.' && inner !== '') first ??= inner;
  });
  try {
    for await (const chunk of plain) {
      reader.write(chunk as Buffer);
      if (first !== undefined) return first;
    }
    reader.end();
  } catch (error) {
    throw explain(path, error);
  } finally {
    file.destroy();
  }
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
