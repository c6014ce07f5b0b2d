import { createWriteStream } from 'node:fs';
import { mkdir, realpath, symlink, type FileHandle } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { packTar, unpackTar } from 'modern-tar/fs';
import { archiveLimits, EntryCounter, limitedTo, printableName } from '../../bosh/archive/archive-limits.ts';
import { openForReading } from '../../bosh/archive/open-for-reading.ts';
import { freeSpaceHint } from '../../errors/text.ts';
import { ProductError } from '../../errors/product-error.ts';
import { errorMessage } from './error-code.ts';
import { withPath, writing } from '../../platform/write-file.ts';

interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly linkname?: string;
}

/**
 * Extracts a tar archive, gzipped or plain, into an existing empty directory. With `topDirectory`, extracts
 * only the content of that top-level directory, without its name. Does not restore owners. Rejects paths that
 * leave the directory, devices, named pipes, and archives beyond archiveLimits. Creates symbolic links last,
 * so that no file is ever written through one. They may point anywhere, because packages link to other
 * packages by absolute path.
 */
export async function extractArchive(
  archive: string,
  directory: string,
  topDirectory?: string,
): Promise<void> {
  const links: { path: string; target: string }[] = [];
  const counter = new EntryCounter();
  const take = (entry: Entry): boolean => {
    const beyond = counter.add(entry.name, entry.linkname ?? '');
    if (beyond !== undefined) throw new Error(`entry '${printableName(entry.name)}' ${beyond}`);
    const name = nameWithin(entry.name, topDirectory);
    if (name === undefined) return false;
    if (entry.type !== 'symlink') return checkType(entry);
    links.push({ path: safeJoin(directory, name), target: entry.linkname ?? '' });
    return false;
  };
  const unpack = unpackTar(directory, {
    strict: true,
    filter: take,
    map: (header) => ({
      ...header,
      name: nameWithin(header.name, topDirectory) ?? header.name,
      ...linkOf(header, topDirectory),
    }),
  });
  try {
    await using file = await openForReading(archive);
    const source = file.createReadStream({ start: 0, autoClose: false });
    const limited = limitedTo(archiveLimits.total, (excess) => new Error(`it unpacks to ${excess}`));
    if (await isGzip(file)) await pipeline(source, createGunzip(), limited, unpack);
    else await pipeline(source, limited, unpack);
    const root = await realpath(directory);
    for (const link of links) await makeLink(root, link.path, link.target);
  } catch (failure) {
    const error = withPath(directory, failure);
    if (freeSpaceHint(error) !== undefined) throw error;
    throw new ProductError(
      'AGENT_ARCHIVE_INVALID',
      `the archive cannot be unpacked: ${errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Packs the content of a directory into a gzipped tar archive at `archive`, which must not exist. */
export async function createArchive(directory: string, archive: string): Promise<void> {
  const target = createWriteStream(archive, { flags: 'wx', mode: 0o600 });
  await writing(archive, () => pipeline(packTar(directory), createGzip(), target));
}

function checkType(entry: Entry): true {
  const type = entry.type ?? 'file';
  if (type === 'file' || type === 'directory' || type === 'link') return true;
  throw new Error(`entry '${entry.name}' is a ${type}; only files, folders and links can be unpacked`);
}

function nameWithin(name: string, directory: string | undefined): string | undefined {
  const clean = name.replace(/^(\.\/)+/, '');
  if (directory === undefined) return clean === '' ? '.' : clean;
  if (clean === directory || clean === `${directory}/`) return '.';
  return clean.startsWith(`${directory}/`) ? clean.slice(directory.length + 1) : undefined;
}

function linkOf(entry: Entry, directory: string | undefined): { linkname?: string } {
  if (entry.type !== 'link' || entry.linkname === undefined) return {};
  return { linkname: nameWithin(entry.linkname, directory) ?? entry.linkname };
}

function safeJoin(directory: string, name: string): string {
  const clean = normalize(name.replace(/\/+$/, ''));
  if (clean.startsWith('/') || clean === '..' || clean.startsWith('../')) {
    throw new Error(`entry '${name}' leaves the archive's folder`);
  }
  return join(directory, clean);
}

async function makeLink(root: string, path: string, target: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const parent = await realpath(dirname(path));
  if (parent !== root && !parent.startsWith(`${root}/`)) {
    throw new Error(`the link '${path}' would be created through another link of the archive`);
  }
  await symlink(target, path);
}

async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}
