import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import { connect, type NatsConnection as Client } from '@nats-io/transport-node';
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
}

const connectTimeoutMs = 10_000;

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
   * reachable or not authentic, or if it refuses the certificate or the subject.
   */
  static async open({
    server,
    credentials,
    subject,
    onMessage,
    onError,
  }: NatsConnectionOptions): Promise<NatsConnection> {
    const client = await connect({
      servers: describeServer(server),
      reconnect: false,
      timeout: connectTimeoutMs,
      ignoreClusterUpdates: true,
      tls: tlsOptions(server, credentials),
    });
    try {
      const refused = Promise.withResolvers<never>();
      // Without this handler, a refusal after the race below would be an unhandled rejection.
      refused.promise.catch(onError);
      client.subscribe(subject, {
        callback: (error, message) =>
          error === null ? onMessage(message.data, message.subject) : refused.reject(error),
      });
      void reportErrors(client, onError);
      await Promise.race([client.flush(), refused.promise]);
    } catch (error) {
      await client.close();
      throw error;
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

  /** Ends the subscription, waits until the server has everything that was sent, and ends the connection. */
  async drain(): Promise<void> {
    if (!this.#client.isClosed()) await this.#client.drain();
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

// The library passes these options to tls.connect, but its type has only the first three of them.
type TlsOptions = { readonly cert: string; readonly key: string; readonly ca: string } & Pick<
  ConnectionOptions,
  'host' | 'minVersion' | 'checkServerIdentity'
>;

function checkCommonName({ subject }: PeerCertificate): Error | undefined {
  const name = String(subject.CN);
  if (/^[^.]+\.nats\.bosh-internal$/u.test(name)) return undefined;
  return new Error(`the common name '${name}' of the server's certificate is not *.nats.bosh-internal`);
}

async function reportErrors(client: Client, onError: (error: Error) => void): Promise<void> {
  for await (const status of client.status()) if (status.type === 'error') onError(status.error);
}
