import { readFileSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { CredhubClient } from '../credhub/credhub-client.ts';
import {
  formatSecretReference,
  isBelowPrefix,
  isSecretPath,
  type SecretReference,
} from '../signature/secret-reference.ts';
import type { DriverLog } from './log.ts';
import { MountError } from './mount/mount-error.ts';
import { Fields } from '../../platform/fields.ts';
import { credhubAccess, credhubSettingNames, readCredhubSettings } from '../credhub/credhub-settings.ts';
import { parseJsonObject } from '../../platform/json.ts';

/** The stores that may contain secrets of signed volumes. A store without a prefix is not read. */
export interface SecretSources {
  /** A directory to which only this user can write, with files of this user. */
  readonly filePrefix: string | undefined;
  readonly credhub: CredhubSource | undefined;
}

/** A CredHub, and the path in it below which secrets are read. */
interface CredhubSource {
  readonly prefix: string;
  readonly client: Pick<CredhubClient, 'get' | 'close'>;
}

interface ReadSecretPorts {
  readonly sources: SecretSources;
  /** Gets the reason why CredHub cannot be read, which only the operator may see. */
  readonly log: DriverLog;
  /** Aborts the wait for CredHub. */
  readonly signal: AbortSignal;
}

/** Milliseconds of retries while CredHub is busy. A cell does not wait long for a mount. */
const retryMs = 5_000;

/**
 * Reads the secret that a signed volume refers to. Rejects with MountError, which does not contain the
 * secret.
 */
export async function readSecret(reference: SecretReference, ports: ReadSecretPorts): Promise<string> {
  return reference.store === 'credhub'
    ? readFromCredhub(reference, ports)
    : readFromFile(reference, ports.sources.filePrefix);
}

async function readFromCredhub(
  reference: SecretReference,
  { sources: { credhub }, log, signal }: ReadSecretPorts,
): Promise<string> {
  if (credhub === undefined || !isBelowPrefix(reference, credhub.prefix))
    throw secretUnavailable(reference, 'it is not below the prefix that the driver reads (-credhub)');
  let value: unknown;
  try {
    value = await abortable(credhub.client.get(reference.name, retryMs), signal);
  } catch (error) {
    if (!signal.aborted && !isProductError(error, 'STORE_UNAVAILABLE')) throw error;
    log.error('credhub', error, { credential: reference.name });
    throw secretUnavailable(reference, 'CredHub cannot be read now; ask the operator of the cells', error);
  }
  if (value === undefined)
    throw secretUnavailable(
      reference,
      "CredHub has no such credential, or the driver's client may not read it",
    );
  // credentials of other types are objects
  if (typeof value !== 'string') throw secretUnavailable(reference, 'its type must be password or value');
  return value;
}

async function readFromFile(reference: SecretReference, prefix: string | undefined): Promise<string> {
  const fail = (reason: string): MountError => secretUnavailable(reference, reason);
  if (prefix === undefined || !isBelowPrefix(reference, prefix))
    throw fail('it is not in the folder that the driver reads (-secretFiles)');
  try {
    // a link in one of the directories of the path could lead to any file of root
    if ((await realpath(reference.name)) !== reference.name) throw fail('its path has a symbolic link');
    const text = await readOwnFile(reference.name);
    if (text === undefined) throw fail('there is no such file on the cell');
    return text.replace(/\r?\n$/u, '');
  } catch (error) {
    if (error instanceof MountError) throw error;
    if (isProductError(error, 'FILE_NOT_TRUSTED'))
      throw fail('the file is not a regular file that belongs to root');
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === '') throw error;
    throw fail(code === 'ENOENT' ? 'there is no such file on the cell' : `the file cannot be read (${code})`);
  }
}

const secretUnavailable = (reference: SecretReference, reason: string, cause?: unknown): MountError =>
  new MountError(
    'SECRET_UNAVAILABLE',
    `the password ${formatSecretReference(reference)} cannot be read: ${reason}`,
    { cause },
  );

/** Returns the result of the work. Rejects as soon as the signal is aborted. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new Error('it did not answer in time'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Reads a file that a flag names. Rejects with DRIVER_CONFIG_INVALID if it cannot be read. */
export async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${path}' of -${flag} cannot be read`, { cause: error });
  }
}

const known: readonly string[] = [...credhubSettingNames, 'prefix'];

/**
 * Returns a client of the CredHub that the file of `-credhub` names. The file is JSON, as
 * docs/volumes/driver.md shows it. CredHub may still be unreachable. The file contains a secret: it must
 * belong to this user, and is made unreadable for others.
 */
export async function openCredhub(path: string): Promise<CredhubSource> {
  const problems: string[] = [];
  const map = parseJsonObject(await textOf(path));
  if (map === undefined) throw configError(path, ['it must be a JSON object']);
  for (const name of Object.keys(map))
    if (!known.includes(name)) problems.push(`${JSON.stringify(name.slice(0, 64))} is not a setting`);
  const read = new Fields(map, '', problems);
  const settings = readCredhubSettings(read);
  const prefix = read.text('prefix');
  if (prefix !== '' && !(prefix.startsWith('/') && isSecretPath(prefix.slice(1))))
    read.report(
      'prefix',
      'must be a path such as /volumes, of letters, digits, dots, dashes and underscores',
    );
  if (problems.length > 0) throw configError(path, problems);
  const readNamed = (file: string, setting: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw configError(path, [`${setting} names a file that cannot be read, '${file}'`], error);
    }
  };
  return { prefix, client: new CredhubClient(credhubAccess(settings, readNamed)) };
}

async function textOf(path: string): Promise<string> {
  try {
    const text = await readOwnFile(path, { tightenMode: true });
    if (text !== undefined) return text;
  } catch (error) {
    if (isProductError(error)) throw error;
    throw configError(path, ['it cannot be read'], error);
  }
  throw configError(path, ['there is no such file']);
}

const configError = (path: string, problems: readonly string[], cause?: unknown): ProductError =>
  new ProductError(
    'DRIVER_CONFIG_INVALID',
    `volumes driver does not start: '${path}' of -credhub: ${problems.join('; ')}`,
    { cause },
  );
