import { parseArgs } from 'node:util';
import { ProductError } from '../../../errors/product-error.ts';
import { redactor } from '../../../errors/redact/redactor.ts';
import type { BrokerConfig } from '../config.ts';
import { parseBrokerConfig } from '../config.ts';
import { connectCredhub, openStore, secretsInConfig } from '../open-store.ts';
import { readConfig } from '../run-broker.ts';
import type { CommandIo } from '../run-ports.ts';
import type { CredhubConfig } from '../store-config.ts';
import { migrateRecords } from './migrate-records.ts';

/**
 * Imports the records of the old brokers in `migrate_from` into the store of the configuration, and prints
 * the result. Returns the exit code: 1 if a record was not imported.
 */
export async function runMigrate(
  words: readonly string[],
  { environment, out }: Pick<CommandIo, 'environment' | 'out'>,
): Promise<number> {
  const config = parseBrokerConfig(await readConfig(configFromArgs(words)), environment);
  const sources = legacyStores(config);
  const redact = redactor(secretsInConfig(config));
  const store = await openStore(config);
  let allImported = true;
  try {
    for (const source of sources) {
      const client = connectCredhub(source);
      try {
        const from = { client, storeId: source.storeId };
        const result = await migrateRecords(from, { store, offerings: config.offerings });
        const { instances, bindings, present, left } = result;
        out(
          `/${source.storeId} at ${source.url}: ${instances} instances and ${bindings} bindings taken over, ${present} were there already, ${left.length} left\n`,
        );
        for (const { name, fault } of left) out(redact(`- left: ${name}: ${fault}\n`));
        allImported &&= left.length === 0;
      } finally {
        client.close();
      }
    }
  } finally {
    await store.close();
  }
  if (!allImported)
    out(
      'What is left stays as it is in CredHub. Create those services and bindings anew, or mend the configuration and run this again.\n',
    );
  return allImported ? 0 : 1;
}

function configFromArgs(words: readonly string[]): string {
  try {
    const { config } = parseArgs({
      args: [...words],
      options: { config: { type: 'string' } },
      strict: true,
    }).values;
    if (config !== undefined) return config;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new ProductError('INVALID_ARGUMENT', 'volumes takes: migrate --config FILE');
}

/**
 * Returns the CredHub servers to import from. The store itself, if it is in CredHub, may have been the store
 * of the old broker.
 */
function legacyStores({ migrateFrom, store }: BrokerConfig): readonly CredhubConfig[] {
  if (migrateFrom.length > 0) return migrateFrom;
  if ('credhub' in store) return [store.credhub];
  const message =
    'migrate_from is missing: name the CredHub of each old broker, with url, store_id, ca and uaa';
  throw new ProductError('BROKER_CONFIG_INVALID', message);
}
