import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { readSigningKey } from '../signature/signed-volume-id.ts';
import type { BrokerConfig } from './config.ts';
import type { VolumeIdScheme } from './volume-mount.ts';
import type { CredhubConfig } from './store-config.ts';
import type { BrokerStore } from './store/broker-store.ts';
import { CredhubClient } from '../credhub/credhub-client.ts';
import { credhubAccess } from '../credhub/credhub-settings.ts';
import { CredhubStore } from './store/credhub-store.ts';
import { SqliteStore } from './store/sqlite-store.ts';
import { RecordCipher } from './store/record-cipher.ts';

/** Opens the store of a configuration. A remote store may still be unreachable. */
export async function openStore({
  store,
  encryptionKeys,
}: Pick<BrokerConfig, 'store' | 'encryptionKeys'>): Promise<BrokerStore> {
  if ('credhub' in store) return new CredhubStore(store.credhub.storeId, connectCredhub(store.credhub));
  const [first, ...others] = encryptionKeys;
  if (first === undefined) throw new ProductError('BROKER_CONFIG_INVALID', 'encryption_keys is missing');
  const records = new RecordCipher([first, ...others]);
  if ('sqlite' in store) return openSqlite(store.sqlite, records);
  const { PostgresStore } = await import('./store/postgres-store.ts');
  const { caFile, ...access } = store.postgresql;
  const ca = readOptionalFile(caFile, 'store.postgresql.ca') ?? access.ca;
  return new PostgresStore({ ...access, ca }, records);
}

async function openSqlite(path: string, records: RecordCipher): Promise<BrokerStore> {
  try {
    await ensurePrivateDirectory(dirname(path));
    return new SqliteStore(path, records);
  } catch (error) {
    if (isProductError(error) || !(error instanceof Error)) throw error;
    const message = `store.sqlite names a file that cannot be used, '${path}': ${error.message}; name a file in a folder that this user may write, or restore the file of the broker`;
    throw new ProductError('BROKER_CONFIG_INVALID', message, { cause: error });
  }
}

/** Returns a client of the configured CredHub. */
export function connectCredhub(config: CredhubConfig): CredhubClient {
  return new CredhubClient(credhubAccess(config, readConfigFile));
}

/** Returns the secrets of the configuration, which must not appear in a log. */
export function secretsInConfig({
  auth,
  encryptionKeys,
  scheme,
  store,
  migrateFrom,
}: BrokerConfig): string[] {
  const hmacKeys = typeof scheme === 'object' && 'hmacKey' in scheme ? [scheme.hmacKey] : [];
  const credhubs = 'credhub' in store ? [store.credhub, ...migrateFrom] : migrateFrom;
  return [
    ...auth.passwords,
    ...[...encryptionKeys, ...hmacKeys].map((key) => key.toString('base64')),
    ...(typeof scheme === 'object' && 'signingKey' in scheme
      ? [scheme.signingKey.key.export({ type: 'pkcs8', format: 'pem' }).toString()]
      : []),
    ...('postgresql' in store && store.postgresql.password !== undefined ? [store.postgresql.password] : []),
    ...credhubs.flatMap((credhub) => ('uaa' in credhub.auth ? [credhub.auth.uaa.secret] : [])),
  ];
}

const readOptionalFile = (path: string | undefined, setting: string): string | undefined =>
  path === undefined ? undefined : readConfigFile(path, setting);

/** Returns the scheme of volume ids. Reads the signing key if the configuration names its file. */
export function loadVolumeIdOptions(scheme: BrokerConfig['scheme']): VolumeIdScheme {
  if (!(typeof scheme === 'object' && 'signingKeyFile' in scheme)) return scheme;
  const signingKey = readSigningKey(readConfigFile(scheme.signingKeyFile, 'signing.key'));
  if ('id' in signingKey) return { signingKey };
  throw new ProductError(
    'BROKER_CONFIG_INVALID',
    `signing.key names '${scheme.signingKeyFile}', which ${signingKey.problem}`,
  );
}

/**
 * Reads a file that a setting names. Throws BROKER_CONFIG_INVALID, with the setting, if it cannot be read.
 */
export function readConfigFile(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'BROKER_CONFIG_INVALID',
      `${setting} names a file that cannot be read: '${path}'`,
      {
        cause: error,
      },
    );
  }
}
