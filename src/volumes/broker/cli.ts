import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { type BrokerConfig, parseBrokerConfig } from './config.ts';
import { startBroker } from './start-broker.ts';
import { runBrokerDemo } from './broker-demo.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { connectCredhub, openStore, secretsInConfig } from './open-store.ts';
import type { CredhubConfig } from './store-config.ts';
import type { BrokerStore } from './store/broker-store.ts';
import { migrateRecords } from './migrate/import-legacy-records.ts';
import { brokerFlags, migrateFlags } from './broker-flags.ts';

/** The environment, output and stop signal of a command of the broker. */
interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  /** Aborted when the broker has to stop. */
  readonly signal: AbortSignal;
  /** True if the output goes to a terminal, so that a user can paste the printed lines. */
  readonly isTerminal: boolean;
}

const usage = 'broker --config FILE | broker --demo';

/**
 * Runs a broker until `signal` is aborted. Its configuration is in the file of `--config`, or in
 * BROKER_CONFIG of the environment. `--demo` instead runs a broker in a temporary directory and sends the
 * requests of the life of a binding. Returns the exit code.
 */
export async function runBroker(args: readonly string[], io: CommandIo): Promise<number> {
  const { config, demo = false } = parseOptions(args, brokerFlags, usage);
  if (demo && config !== undefined) throw usageError(usage);
  if (demo) return runBrokerDemo(io);
  const { environment, out, signal } = io;
  const text = config === undefined ? environment['BROKER_CONFIG'] : await readConfig(config);
  if (text === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `volumes broker needs a configuration, by --config or in BROKER_CONFIG. Usage: ${usage}`,
    );
  const running = await startBroker(parseBrokerConfig(text, environment), out);
  if (!signal.aborted) await once(signal, 'abort');
  await running.stop();
  return 0;
}

/** Parses options. Throws INVALID_ARGUMENT with the usage if an argument is unknown. */
function parseOptions<T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
  syntax: string,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usageError(syntax);
  }
}

const usageError = (syntax: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `volumes takes: ${syntax}`);

/** Reads the text of a configuration. */
async function readConfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'FILE_NOT_FOUND',
      `the configuration '${path}' of the volume broker cannot be read; docs/volumes/broker.md shows one`,
      { cause: error },
    );
  }
}

/**
 * Imports the records of the old brokers in `migrate_from` into the store of the configuration, and prints
 * the result. Returns the exit code: 1 if a record was not imported.
 */
export async function runMigrate(
  args: readonly string[],
  { environment, out }: Pick<CommandIo, 'environment' | 'out'>,
): Promise<number> {
  const syntax = 'migrate --config FILE';
  const { config: path } = parseOptions(args, migrateFlags, syntax);
  if (path === undefined) throw usageError(syntax);
  const config = parseBrokerConfig(await readConfig(path), environment);
  const redact = redactor(secretsInConfig(config));
  const sources = legacyStores(config);
  const store = await openStore(config);
  let allImported = true;
  try {
    for (const source of sources) {
      const {
        instances,
        bindings,
        alreadyImported: present,
        skipped: skippedRecords,
      } = await importFrom(source, config, store);
      out(
        `/${source.storeId} at ${source.url}: ${instances} instances and ${bindings} bindings imported, ${present} existed already, ${skippedRecords.length} skipped\n`,
      );
      for (const { name, problem } of skippedRecords) out(redact(`- skipped: ${name}: ${problem}\n`));
      allImported &&= skippedRecords.length === 0;
    }
  } finally {
    await store.close();
  }
  if (!allImported)
    out(
      'The skipped records are unchanged in CredHub. Create those services and bindings again, or fix the configuration and run this command again.\n',
    );
  return allImported ? 0 : 1;
}

async function importFrom(
  source: CredhubConfig,
  { offerings }: BrokerConfig,
  store: BrokerStore,
): ReturnType<typeof migrateRecords> {
  const client = connectCredhub(source);
  try {
    return await migrateRecords({ client, storeId: source.storeId }, { store, offerings });
  } finally {
    client.close();
  }
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
