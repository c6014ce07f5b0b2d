import { constants } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, extname, isAbsolute, join, normalize } from 'node:path';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { parseJsonObject } from '../../platform/json.ts';

/** Maximum bytes. Spec files are much smaller. */
const maxSpecBytes = 64 * 1024;

/** The drivers of the directories, and the reasons why files were ignored. */
interface Discovery {
  readonly specs: readonly DriverSpec[];
  readonly ignored: readonly string[];
}

/**
 * Reads the spec files of the directories. The first valid spec file of a name wins, directory by directory,
 * json before spec before sock. Invalid files are skipped. Every user can write to such a directory (mode 777
 * on a BOSH cell), and a driver gets passwords. So files are ignored if they belong to another user than root
 * or this one, or if others can write to them.
 */
export async function discoverDrivers(directories: readonly string[]): Promise<Discovery> {
  const specs = new Map<string, DriverSpec>();
  const refusals: string[] = [];
  for (const directory of directories) {
    const names = await entriesOf(directory);
    for (const kind of specKinds) {
      for (const entry of names.filter((name) => extname(name) === `.${kind}`)) {
        const name = entry.slice(0, -(kind.length + 1));
        if (specs.has(name)) continue;
        try {
          const path = join(directory, entry);
          const spec = parseDriverSpec(await readSpec({ name, kind, path }));
          if ('socketPath' in spec.address)
            await checkSocketDirectory(path, dirname(spec.address.socketPath));
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
  return { specs: [...specs.values()], ignored: refusals };
}

/**
 * Rejects a socket that other users could replace. The path is opened for each call, so another user's socket
 * would get the passwords.
 */
async function checkSocketDirectory(path: string, directory: string): Promise<void> {
  const { uid, mode } = await stat(directory);
  const isSticky = (mode & 0o1000) !== 0;
  if ((uid === 0 || uid === process.geteuid?.()) && ((mode & 0o022) === 0 || isSticky)) return;
  throw invalid(
    path,
    `leads to a socket in '${directory}', where other users can replace it (chown root and chmod +t that folder, or let the driver listen on TCP with TLS)`,
  );
}

/** Returns the sorted entries, or an empty list if the directory does not exist: it has no drivers then. */
async function entriesOf(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

async function readSpec(file: Omit<SpecFile, 'text'>): Promise<SpecFile> {
  const { name, kind, path } = file;
  if (parsePathSegment(name) === undefined) throw invalid(path, 'has a name that is invalid for a driver');
  if (kind === 'sock') {
    checkOwner(path, await lstat(path), kind);
    return { ...file, text: '' };
  }
  const opened = await openFile(path);
  try {
    const stats = await opened.stat();
    checkOwner(path, stats, kind);
    if (stats.size > maxSpecBytes)
      throw invalid(path, `has ${stats.size} bytes, which is too large for a spec file`);
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
      throw invalid(path, 'is a symbolic link or not a regular file');
    throw error;
  }
}

interface SpecFileStat {
  readonly uid: number;
  readonly mode: number;
  isFile(): boolean;
  isSocket(): boolean;
}

function checkOwner(path: string, stats: SpecFileStat, kind: SpecKind): void {
  if (kind === 'sock' ? !stats.isSocket() : !stats.isFile())
    throw invalid(path, `is not a ${kind === 'sock' ? 'socket' : 'regular file'}`);
  if (stats.uid !== 0 && stats.uid !== process.geteuid?.())
    throw invalid(path, `belongs to user ${stats.uid}, who would get the passwords of volumes`);
  // only the owner of a socket matters: other users may be allowed to connect to it
  if (kind !== 'sock' && (stats.mode & 0o022) !== 0)
    throw invalid(path, 'can be written by others, who would get the passwords of volumes');
}

/** The address of a volume driver, from its spec file. */
export interface DriverSpec {
  readonly name: string;
  readonly address: DriverAddress;
  /** The settings for mutual TLS. */
  readonly tls: DriverTls | undefined;
  /** If true, the driver has a separate volume for each container, and none is shared. */
  readonly hasUniqueVolumeIds: boolean;
}

type DriverAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

interface DriverTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** If false, the certificate must be signed by the CA but may be for another name. */
  readonly checksName: boolean;
}

/** The kinds of spec files, in the order of their precedence. */
const specKinds = ['json', 'spec', 'sock'] as const;
type SpecKind = (typeof specKinds)[number];

/** The content of a spec file. `text` is '' for a socket. */
interface SpecFile {
  readonly name: string;
  readonly kind: SpecKind;
  readonly path: string;
  readonly text: string;
}

/**
 * Parses a spec file as volman does: the driver's name is that of the file, even if the text has another.
 * Throws DRIVER_SPEC_INVALID.
 */
function parseDriverSpec(file: SpecFile): DriverSpec {
  const { name, kind, path, text } = file;
  if (kind === 'json') return parseJson(file);
  const address = kind === 'sock' ? path : (text.split('\n', 1)[0] ?? '').trim();
  return { name, address: parseAddress(address, path), tls: undefined, hasUniqueVolumeIds: false };
}

function parseJson({ name, path, text }: SpecFile): DriverSpec {
  const spec = parseJsonObject(text);
  if (spec === undefined) throw invalid(path, 'is not a JSON object');
  const { Addr: address, TLSConfig: tls = null, UniqueVolumeIds: hasUniqueVolumeIds = false } = spec;
  if (typeof address !== 'string') throw invalid(path, 'has no text Addr');
  if (typeof hasUniqueVolumeIds !== 'boolean')
    throw invalid(path, 'has a UniqueVolumeIds that is not a boolean');
  const parsed = parseAddress(address, path);
  if (tls === null && address.startsWith('https:'))
    throw invalid(path, 'has an https Addr, but no TLSConfig');
  return { name, address: parsed, tls: tls === null ? undefined : parseTls(tls, path), hasUniqueVolumeIds };
}

function parseTls(value: unknown, path: string): DriverTls {
  if (typeof value !== 'object') throw invalid(path, 'has a TLSConfig that is not an object');
  const { CAFile, CertFile, KeyFile, InsecureSkipVerify = false }: Record<string, unknown> = { ...value };
  const fileOf = (key: string, file: unknown): string => {
    if (typeof file === 'string' && isAbsolute(file)) return file;
    throw invalid(path, `has a TLSConfig whose ${key} is not the absolute path of a file`);
  };
  if (typeof InsecureSkipVerify !== 'boolean')
    throw invalid(path, 'has a TLSConfig whose InsecureSkipVerify is not a boolean');
  return {
    caFile: fileOf('CAFile', CAFile),
    certFile: fileOf('CertFile', CertFile),
    keyFile: fileOf('KeyFile', KeyFile),
    checksName: !InsecureSkipVerify,
  };
}

/** Parses a URL, `HOST:PORT`, `unix:///path`, or the path of a socket. */
function parseAddress(text: string, path: string): DriverAddress {
  const socketPath = text.startsWith('unix://') ? text.slice('unix://'.length) : text;
  if (isAbsolute(socketPath) && normalize(socketPath) === socketPath) return { socketPath };
  const [, host = '', digits = ''] =
    /^(?:(?:https?|tcp):\/\/)?(\[[^\]]+\]|[^:/\s]+):(\d{1,5})\/?$/u.exec(text) ?? [];
  const [port, bare] = [Number(digits), host.replace(/^\[(.*)\]$/u, '$1')];
  const isHost = host.startsWith('[') ? isIP(bare) === 6 : /^[\w.-]+$/u.test(host);
  if (isHost && port > 0 && port < 65_536) return { host: bare, port };
  throw invalid(path, 'has an address that is neither http(s)://HOST:PORT nor the path of a socket');
}

function invalid(path: string, reason: string): ProductError {
  return new ProductError(
    'DRIVER_SPEC_INVALID',
    `spec file '${path}' ${reason}; the driver writes it at its start: correct or restart that driver`,
  );
}
