import { realpath } from 'node:fs/promises';
import { isProductError } from '../../../errors/product-error.ts';
import { readOwnFile } from '../../../platform/read-file.ts';
import type { CredhubClient } from '../../credhub/credhub-client.ts';
import type { SecretReference } from '../../signature/secret-reference.ts';
import { formatSecretReference, isBelowPrefix } from '../../signature/secret-reference.ts';
import type { DriverLog } from '../driver-log.ts';
import { MountError } from '../mount/mount-error.ts';

/** The stores that may contain secrets of signed volumes. A store without a prefix is not read. */
export interface SecretSources {
  /** A directory to which only this user can write, with files of this user. */
  readonly filePrefix: string | undefined;
  readonly credhub: CredhubPlace | undefined;
}

/** A CredHub, and the path in it below which secrets are read. */
export interface CredhubPlace {
  readonly prefix: string;
  readonly client: Pick<CredhubClient, 'get' | 'close'>;
}

export interface ReadSecretPorts {
  readonly places: SecretSources;
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
    : readFromFile(reference, ports.places.filePrefix);
}

async function readFromCredhub(
  reference: SecretReference,
  { places: { credhub }, log, signal }: ReadSecretPorts,
): Promise<string> {
  if (credhub === undefined || !isBelowPrefix(reference, credhub.prefix))
    throw secretUnavailable(reference, 'it is not in the place that the driver reads (-credhub)');
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
  const fail = (why: string): MountError => secretUnavailable(reference, why);
  if (prefix === undefined || !isBelowPrefix(reference, prefix))
    throw fail('it is not in the place that the driver reads (-secretFiles)');
  try {
    // a link in one of the directories of the path could lead to any file of root
    if ((await realpath(reference.name)) !== reference.name) throw fail('its path has a link');
    const text = await readOwnFile(reference.name);
    if (text === undefined) throw fail('there is no such file on the cell');
    return text.replace(/\r?\n$/u, '');
  } catch (error) {
    if (error instanceof MountError) throw error;
    if (isProductError(error, 'FILE_NOT_TRUSTED')) throw fail("the file is not root's own");
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === '') throw error;
    throw fail(code === 'ENOENT' ? 'there is no such file on the cell' : `the file cannot be read (${code})`);
  }
}

const secretUnavailable = (reference: SecretReference, why: string, cause?: unknown): MountError =>
  new MountError(
    'SECRET_UNAVAILABLE',
    `the password ${formatSecretReference(reference)} cannot be had: ${why}`,
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
