import { isIP } from 'node:net';
import { isAbsolute, normalize } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/** The address of a volume driver, from its spec file. */
export interface DriverSpec {
  readonly name: string;
  readonly address: DriverAddress;
  /** The settings for mutual TLS. */
  readonly tls: DriverTls | undefined;
  /** If true, the driver has a separate volume for each container, and none is shared. */
  readonly hasUniqueVolumeIds: boolean;
}

export type DriverAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number };

export interface DriverTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** If false, the certificate must be signed by the CA but may be for another name. */
  readonly checksName: boolean;
}

/** The kinds of spec files, in the order of their precedence. */
export const specKinds = ['json', 'spec', 'sock'] as const;
export type SpecKind = (typeof specKinds)[number];

/** The content of a spec file. `text` is '' for a socket. */
export interface SpecFile {
  readonly name: string;
  readonly kind: SpecKind;
  readonly path: string;
  readonly text: string;
}

/**
 * Parses a spec file as volman does: the driver's name is that of the file, even if the text has another.
 * Throws DRIVER_SPEC_INVALID.
 */
export function parseDriverSpec(file: SpecFile): DriverSpec {
  const { name, kind, path, text } = file;
  if (kind === 'json') return parseJson(file);
  const address = kind === 'sock' ? path : (text.split('\n', 1)[0] ?? '').trim();
  return { name, address: parseAddress(address, path), tls: undefined, hasUniqueVolumeIds: false };
}

function parseJson({ name, path, text }: SpecFile): DriverSpec {
  const spec = objectOf(text, path);
  const { Addr: address, TLSConfig: tls = null, UniqueVolumeIds: hasUniqueVolumeIds = false } = spec;
  if (typeof address !== 'string') throw invalid(path, 'has no text Addr');
  if (typeof hasUniqueVolumeIds !== 'boolean')
    throw invalid(path, 'has a UniqueVolumeIds that is no boolean');
  const parsed = parseAddress(address, path);
  if (tls === null && address.startsWith('https:'))
    throw invalid(path, 'has an https Addr, but no TLSConfig');
  return { name, address: parsed, tls: tls === null ? undefined : parseTls(tls, path), hasUniqueVolumeIds };
}

function objectOf(text: string, path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalid(path, 'is not a JSON object');
}

function parseTls(value: unknown, path: string): DriverTls {
  if (typeof value !== 'object') throw invalid(path, 'has a TLSConfig that is no object');
  const { CAFile, CertFile, KeyFile, InsecureSkipVerify = false }: Record<string, unknown> = { ...value };
  const fileOf = (key: string, file: unknown): string => {
    if (typeof file === 'string' && isAbsolute(file)) return file;
    throw invalid(path, `has a TLSConfig whose ${key} is not the absolute path of a file`);
  };
  if (typeof InsecureSkipVerify !== 'boolean')
    throw invalid(path, 'has a TLSConfig whose InsecureSkipVerify is no boolean');
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

export function invalid(path: string, why: string): ProductError {
  return new ProductError(
    'DRIVER_SPEC_INVALID',
    `spec file '${path}' ${why}; the driver writes it at its start: correct or restart that driver`,
  );
}
