import { setTimeout as sleep } from 'node:timers/promises';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { NatsConnection as Client } from '@nats-io/transport-node';
import { connectNats, type TlsOptions } from './nats-client.ts';
import { describeServer, type NatsServer } from './nats-servers.ts';

/** The certificate of an agent, with the CA that signed the certificate of the server. All are PEM. */
export interface NatsCredentials {
  readonly certificate: string;
  readonly privateKey: string;
  readonly ca: string;
}

export interface NatsConnectionOptions {
  readonly server: NatsServer;
  readonly credentials: NatsCredentials;
  /** The only subject that the certificate may subscribe to. */
  readonly subject: string;
  /** Gets the body and the subject of each message. */
  readonly onMessage: (body: Uint8Array, subject: string) => void;
  /** Gets an error that does not end the connection, such as the refusal of a subject. */
  readonly onError: (error: Error) => void;
  /** How long the server may need until the subscription is active, in milliseconds. */
  readonly connectTimeoutMs?: number | undefined;
  /** A server that does not answer two of these pings is lost. */
  readonly pingIntervalMs?: number | undefined;
}

export const defaultConnectTimeoutMs = 10_000;
/** The health monitor counts an agent as dead after a minute. */
const defaultPingIntervalMs = 15_000;
const drainTimeoutMs = 5000;

/** One connection to a NATS server, subscribed to one subject. It never connects again by itself. */
export class NatsConnection {
  readonly #client: Client;
  readonly server: NatsServer;

  private constructor(client: Client, server: NatsServer) {
    this.#client = client;
    this.server = server;
  }

  /**
   * Connects and resolves when the subscription is active at the server. Rejects if the server is not
   * reachable or not authentic, if it refuses the certificate or the subject, or if it ends the connection.
   * If it refuses the subject later, the connection ends, because it would receive nothing.
   */
  static async open(options: NatsConnectionOptions): Promise<NatsConnection> {
    const { server, credentials, subject, onMessage, onError } = options;
    const timeout = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
    const isActive = new AbortController();
    // One timer for both steps: each of them may take only what the other one leaves.
    const late = expired(timeout, isActive.signal);
    late.catch(() => {});
    const client = await connectNats({
      servers: describeServer(server),
      timeout,
      pingInterval: options.pingIntervalMs ?? defaultPingIntervalMs,
      maxPingOut: 2,
      tls: tlsOptions(server, credentials),
    });
    try {
      const refused = Promise.withResolvers<never>();
      refused.promise.catch((error: Error) => {
        onError(error);
        void client.close();
      });
      client.subscribe(subject, {
        callback: (error, message) =>
          error === null ? onMessage(message.data, message.subject) : refused.reject(error),
      });
      void reportErrors(client, onError);
      await Promise.race([client.flush(), refused.promise, ended(client), late]);
    } catch (error) {
      await client.close();
      throw error;
    } finally {
      isActive.abort();
    }
    return new NatsConnection(client, server);
  }

  /** Resolves with the reason, if there is one, when the connection has ended. Never rejects. */
  async closed(): Promise<Error | undefined> {
    return (await this.#client.closed()) ?? undefined;
  }

  get isClosed(): boolean {
    return this.#client.isClosed();
  }

  /** Sends a message. Throws if the connection has ended. The server does not acknowledge it. */
  publish(subject: string, body: string): void {
    this.#client.publish(subject, body);
  }

  /** The longest message that the server takes, in bytes. */
  get longestMessage(): number {
    return this.#client.info?.max_payload ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Ends the subscription, waits until the server has everything that was sent, but at most some seconds, and
   * ends the connection. Never rejects.
   */
  async drain(): Promise<void> {
    if (this.#client.isClosed()) return;
    const isDrained = new AbortController();
    // If the server ends the connection first, the library waits for ever.
    await Promise.allSettled([
      Promise.race([this.#client.drain(), this.#client.closed(), expired(drainTimeoutMs, isDrained.signal)]),
    ]);
    isDrained.abort();
    await this.close();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/**
 * Upstream's agent also checks that the common name of the server is `*.nats.bosh-internal` (bosh-agent:
 * mbus/nats_handler.go), so that no other certificate of the same CA can be the server.
 */
function tlsOptions({ host }: NatsServer, { certificate, privateKey, ca }: NatsCredentials): TlsOptions {
  return {
    cert: certificate,
    key: privateKey,
    ca,
    host,
    minVersion: 'TLSv1.2',
    checkServerIdentity: (_name, peer) => checkServerIdentity(host, peer) ?? checkCommonName(peer),
  };
}

function checkCommonName({ subject }: PeerCertificate): Error | undefined {
  const name = String(subject.CN);
  if (/^[^.]+\.nats\.bosh-internal$/u.test(name)) return undefined;
  return new Error(`the common name '${name}' of the server's certificate is not *.nats.bosh-internal`);
}

async function reportErrors(client: Client, onError: (error: Error) => void): Promise<void> {
  for await (const status of client.status()) {
    if (status.type === 'error') onError(status.error);
    // The library first waits until the lost server has taken what was sent.
    if (status.type === 'staleConnection') await client.close();
  }
}

async function ended(client: Client): Promise<never> {
  throw (await client.closed()) ?? new Error('the server has ended the connection');
}

async function expired(milliseconds: number, signal: AbortSignal): Promise<never> {
  await sleep(milliseconds, undefined, { signal });
  throw new Error(`the server did not answer within ${milliseconds / 1000} s`);
}
