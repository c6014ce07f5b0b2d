import { constants } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { isProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { invalid, parseDriverSpec, specKinds } from './driver-spec.ts';
import type { DriverSpec, SpecFile, SpecKind } from './driver-spec.ts';

/** Maximum bytes. Spec files are much smaller. */
const largest = 64 * 1024;

/** The drivers of the directories, and the reasons why files were ignored. */
export interface Discovery {
  readonly specs: readonly DriverSpec[];
  readonly refusals: readonly string[];
}

/**
 * Reads the spec files of the directories. The first valid spec file of a name wins, directory by directory,
 * json before spec before sock. Invalid files are skipped. Every user can write to such a directory (mode 777
 * on a BOSH cell), and a driver gets passwords. So files are ignored if they belong to another user than root
 * or this one, or if others can write to them.
 */
export async function discoverDrivers(folders: readonly string[]): Promise<Discovery> {
  const specs = new Map<string, DriverSpec>();
  const refusals: string[] = [];
  for (const folder of folders) {
    const names = await entriesOf(folder);
    for (const kind of specKinds) {
      for (const entry of names.filter((name) => extname(name) === `.${kind}`)) {
        const name = entry.slice(0, -(kind.length + 1));
        if (specs.has(name)) continue;
        try {
          const path = join(folder, entry);
          const spec = parseDriverSpec(await readSpec({ name, kind, path }));
          if ('socketPath' in spec.address) await checkSocketFolder(path, dirname(spec.address.socketPath));
          specs.set(name, spec);
        } catch (error) {
          // a driver that is stopping removes its file
          if (error instanceof Error && 'code' in error && error.code === 'ENOENT') continue;
          if (!isProductError(error, 'DRIVER_SPEC_INVALID')) throw error;
          refusals.push(error.message);
        }
      }
    }
  }
  return { specs: [...specs.values()], refusals };
}

/**
 * Rejects a socket that other users could replace. The path is opened for each call, so another user's socket
 * would get the passwords.
 */
async function checkSocketFolder(path: string, folder: string): Promise<void> {
  const { uid, mode } = await stat(folder);
  const isSticky = (mode & 0o1000) !== 0;
  if ((uid === 0 || uid === process.geteuid?.()) && ((mode & 0o022) === 0 || isSticky)) return;
  throw invalid(
    path,
    `leads to a socket in '${folder}', where other users can replace it (chown root and chmod +t that folder, or let the driver listen on TCP with TLS)`,
  );
}

/** Returns the sorted entries, or an empty list if the directory does not exist: it has no drivers then. */
async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

async function readSpec(file: Omit<SpecFile, 'text'>): Promise<SpecFile> {
  const { name, kind, path } = file;
  if (parsePathSegment(name) === undefined) throw invalid(path, 'has a name that no driver has');
  if (kind === 'sock') {
    checkOwner(path, await lstat(path), kind);
    return { ...file, text: '' };
  }
  const opened = await openFile(path);
  try {
    const found = await opened.stat();
    checkOwner(path, found, kind);
    if (found.size > largest) throw invalid(path, `has ${found.size} bytes, which no spec file has`);
    return { ...file, text: await opened.readFile('utf8') };
  } finally {
    await opened.close();
  }
}

async function openFile(path: string): Promise<Awaited<ReturnType<typeof open>>> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ELOOP' || error.code === 'ENXIO'))
      throw invalid(path, 'is a link or no regular file');
    throw error;
  }
}

interface Found {
  readonly uid: number;
  readonly mode: number;
  isFile(): boolean;
  isSocket(): boolean;
}

function checkOwner(path: string, found: Found, kind: SpecKind): void {
  if (kind === 'sock' ? !found.isSocket() : !found.isFile())
    throw invalid(path, `is no ${kind === 'sock' ? 'socket' : 'regular file'}`);
  if (found.uid !== 0 && found.uid !== process.geteuid?.())
    throw invalid(path, `belongs to user ${found.uid}, who would get the passwords of volumes`);
  // only the owner of a socket matters: other users may be allowed to connect to it
  if (kind !== 'sock' && (found.mode & 0o022) !== 0)
    throw invalid(path, 'can be written by others, who would get the passwords of volumes');
}
