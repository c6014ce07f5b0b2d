import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { redactor } from '../../errors/redact/redactor.ts';
import { broker } from './broker.ts';
import type { BrokerConfig } from './config.ts';
import { brokerMetrics } from './http/metrics.ts';
import { brokerServer } from './http/server.ts';
import { catalogOf } from './offerings/catalog.ts';
import { openStore, readNamed, readScheme, secretsOf } from './open-store.ts';
import { preflightOf, protocolPorts } from './preflight/preflight.ts';

/** Milliseconds; a Cloud Controller waits a minute for an answer. */
const preflightMs = 10_000;

/** A broker that serves. */
export interface RunningBroker {
  readonly url: string;
  /** Answers what has begun, and resolves when all is closed. */
  stop(): Promise<void>;
}

/**
 * Starts a broker. `log` gets its log, a JSON object a line, with the secrets of the configuration taken
 * out.
 */
export async function startBroker(config: BrokerConfig, log: (line: string) => void): Promise<RunningBroker> {
  const { auth, offerings } = config;
  const scheme = readScheme(config.scheme);
  const redact = redactor(secretsOf({ ...config, scheme }));
  const tls = config.tls && {
    cert: readNamed(config.tls.certificate, 'tls.certificate'),
    key: readNamed(config.tls.privateKey, 'tls.private_key'),
  };
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => log(redact(line)) },
  );
  const store = await openStore(config);
  if ('credhub' in config.store)
    logger.warn(
      `records are kept in CredHub, which cannot compare before it writes: run no other broker with store_id ${config.store.credhub.storeId}`,
    );
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
