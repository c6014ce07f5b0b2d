import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { makeOwnFolder } from '../../platform/own-folder.ts';
import { broker } from './broker.ts';
import type { BrokerConfig, StoreConfig } from './config.ts';
import { brokerMetrics } from './http/metrics.ts';
import { brokerServer } from './http/server.ts';
import { catalogOf } from './offerings/catalog.ts';
import { preflightOf, protocolPorts } from './preflight/preflight.ts';
import type { BrokerStore } from './store/broker-store.ts';
import type { RecordCodec } from './store/record-codec.ts';
import { sealedRecords } from './store/record-codec.ts';
import { sealUnder } from './store/seal.ts';
import { openSqliteStore } from './store/sqlite-store.ts';

/** Milliseconds; a Cloud Controller waits a minute for an answer. */
const preflightMs = 10_000;

/** A broker that serves. */
export interface RunningBroker {
  readonly url: string;
  /** Answers what has begun, and resolves when all is closed. */
  stop(): Promise<void>;
}

/** Starts a broker. `log` gets its log, a JSON object a line, with the secrets of the configuration taken out. */
export async function startBroker(config: BrokerConfig, log: (line: string) => void): Promise<RunningBroker> {
  const { auth, encryptionKeys, scheme, offerings } = config;
  const keys = scheme === 'md5' ? encryptionKeys : [...encryptionKeys, scheme.hmacKey];
  const ofStore = 'postgresql' in config.store ? [config.store.postgresql.password] : [];
  const redact = redactor([...auth.passwords, ...keys.map((key) => key.toString('base64')), ...ofStore]);
  const tls = config.tls && {
    cert: readNamed(config.tls.certificate, 'tls.certificate'),
    key: readNamed(config.tls.privateKey, 'tls.private_key'),
  };
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => log(redact(line)) },
  );
  const store = await openStore(config.store, sealedRecords(sealUnder(encryptionKeys)));
  try {
    const app = brokerServer({
      broker: broker({
        offerings,
        store,
        scheme,
        preflight: config.preflight,
        checkShare: preflightOf({ ports: protocolPorts, deadlineMs: preflightMs }),
        warn: (line) => logger.warn(line),
      }),
      catalog: catalogOf(offerings),
      auth,
      metrics: brokerMetrics(),
      checkStore: () => store.check(),
      logger,
      tls,
    });
    await app.listen(config.listen);
    const { port } = app.server.address() as AddressInfo;
    const host = config.listen.host.includes(':') ? `[${config.listen.host}]` : config.listen.host;
    return {
      url: `${tls === undefined ? 'http' : 'https'}://${host}:${port}`,
      stop: async () => {
        await app.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openStore(config: StoreConfig, records: RecordCodec): Promise<BrokerStore> {
  if ('sqlite' in config) {
    await makeOwnFolder(dirname(config.sqlite));
    return openSqliteStore(config.sqlite, records);
  }
  const { openPostgresStore } = await import('./store/postgres-store.ts');
  const { caFile, ...access } = config.postgresql;
  const ca = caFile === undefined ? undefined : readNamed(caFile, 'store.postgresql.ca');
  return openPostgresStore({ ...access, ca }, records);
}

function readNamed(path: string, setting: string): string {
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
