import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { pino } from 'pino';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { Broker } from './broker.ts';
import type { BrokerConfig } from './config.ts';
import { brokerMetrics, brokerServer } from './http/server.ts';
import { buildCatalog } from './offerings/offering.ts';
import { loadVolumeIdOptions, openStore, readConfigFile, secretsInConfig } from './open-store.ts';
import { createPreflight, type Preflight, protocolPorts } from './preflight.ts';

/** Milliseconds. Cloud Controller waits a minute for a response. */
const preflightTimeoutMs = 10_000;

/** A broker that accepts requests. */
interface RunningBroker {
  readonly url: string;
  /** Finishes requests that have begun, and resolves when everything is closed. */
  stop(): Promise<void>;
}

/** Starts a broker. `log` gets one JSON object per line, without the secrets of the configuration. */
export async function startBroker(
  config: BrokerConfig,
  log: (line: string) => void,
  checkShare: Preflight = createPreflight({ ports: protocolPorts, deadlineMs: preflightTimeoutMs }),
): Promise<RunningBroker> {
  const { auth, offerings } = config;
  const scheme = loadVolumeIdOptions(config.scheme);
  const redact = redactor(secretsInConfig({ ...config, scheme }));
  const tls = config.tls && {
    cert: readConfigFile(config.tls.certificate, 'tls.certificate'),
    key: readConfigFile(config.tls.privateKey, 'tls.private_key'),
  };
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => log(redact(line)) },
  );
  if (tls !== undefined) checkKeyPair(tls);
  const store = await openStore(config);
  if ('credhub' in config.store)
    logger.warn(
      `records are stored in CredHub, which has no conditional writes: run only one broker with store_id ${config.store.credhub.storeId}`,
    );
  try {
    const broker = new Broker({
      offerings,
      store,
      scheme,
      preflight: config.preflight,
      checkShare,
      warn: (line) => logger.warn(line),
    });
    const app = brokerServer({
      broker,
      catalog: buildCatalog(offerings),
      auth,
      metrics: brokerMetrics(),
      checkStore: () => store.ping(),
      logger,
      tls,
    });
    await listenOn(config.listen, () => app.listen(config.listen));
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

/** Rejects an invalid pair of certificate and key. OpenSSL's own error does not name the file. */
function checkKeyPair(tls: { readonly cert: string; readonly key: string }): void {
  try {
    createSecureContext(tls);
  } catch (error) {
    const message =
      'tls.certificate and tls.private_key are not a certificate in PEM and its key; name files that belong together';
    throw new ProductError('BROKER_CONFIG_INVALID', message, { cause: error });
  }
}

async function listenOn(
  { host, port }: BrokerConfig['listen'],
  listen: () => Promise<unknown>,
): Promise<void> {
  try {
    await listen();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (code === undefined || !/^E[A-Z]+$/u.test(code)) throw error;
    const message = `the broker cannot listen at ${host} port ${port} (${code}); set listen, or PORT in the environment, to an address of this machine and a port that is free`;
    throw new ProductError('BROKER_CONFIG_INVALID', message, { cause: error });
  }
}
