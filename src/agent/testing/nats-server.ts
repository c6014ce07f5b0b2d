import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTestAuthority,
  type KeyPair,
  type TestAuthority,
} from '../../kubernetes/testing/certificates.ts';
import type { BusCertificate } from '../settings/settings.ts';
import { NatsConnection } from '../mbus/nats-connection.ts';
import { parseJsonObject } from '../../platform/json.ts';
import { eventually } from './eventually.ts';

/** Why tests of the bus cannot run here; false if they can. */
export const noNatsServer: string | false =
  spawnSync('nats-server', ['--version']).error === undefined
    ? false
    : 'needs the program nats-server of the Debian package nats-server';

const loopback = '127.0.0.1';
const director = 'default.director.bosh-internal';
const monitor = 'default.hm.bosh-internal';

const agentEvents = ['heartbeat', 'alert', 'shutdown'];

interface NatsUser {
  readonly name: string;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

interface ServerOptions {
  readonly authority: TestAuthority;
  readonly address: string;
  readonly port: number;
  readonly commonName: string;
}

/**
 * Debian's nats-server with the configuration of a director's job nats (bosh:
 * jobs/nats/templates/nats.cfg.erb): the subject of a certificate is the user, and each user has its
 * subjects. Agents are admitted late, as nats-sync does it.
 */
export class TestNatsServer {
  readonly #directory: string;
  /** The newest is the first. */
  #authorities: readonly [TestAuthority, ...TestAuthority[]];
  readonly address: string;
  readonly port: number;
  readonly #commonName: string;
  #users: readonly NatsUser[];
  #process: ChildProcess | undefined;

  private constructor(directory: string, { authority, address, port, commonName }: ServerOptions) {
    this.#directory = directory;
    this.#authorities = [authority];
    this.address = address;
    this.port = port;
    this.#commonName = commonName;
    this.#users = fixedUsers;
  }

  /** Starts a server at an address of this machine. It admits the director and the health monitor only. */
  static async start({
    address = loopback,
    commonName = 'default.nats.bosh-internal',
  }: { readonly address?: string; readonly commonName?: string } = {}): Promise<TestNatsServer> {
    const directory = await mkdtemp(join(tmpdir(), 'nats-'));
    const authority = await createTestAuthority({ name: 'nats-ca' });
    const port = await freePort(address);
    const server = new TestNatsServer(directory, { authority, address, port, commonName });
    await server.#writeCertificates();
    await server.run();
    return server;
  }

  get url(): string {
    return `nats://${this.address}:${this.port}`;
  }

  /** All CAs, whose certificates the server accepts. */
  get ca(): string {
    return this.#authorities.map(({ ca }) => ca).join('\n');
  }

  /** The CA that signs certificates. */
  get newestCa(): string {
    return this.#authorities[0].ca;
  }

  /** Receives all messages of a subject, as the health monitor does, and calls `onMessage` for each. */
  async listen(
    subject: string,
    onMessage: (subject: string) => void = () => undefined,
  ): Promise<{
    readonly received: (readonly [subject: string, body: Record<string, unknown>])[];
    close(): Promise<void>;
  }> {
    const { ca = '', ...pair } = await this.#certificate(monitor);
    const received: (readonly [string, Record<string, unknown>])[] = [];
    const connection = await NatsConnection.open({
      server: { host: this.address, port: this.port },
      credentials: { ...pair, ca },
      subject,
      onMessage: (body, sentTo) => {
        received.push([sentTo, parseJsonObject(new TextDecoder().decode(body)) ?? {}]);
        onMessage(sentTo);
      },
      onError: (error) => {
        throw error;
      },
    });
    return { received, close: () => connection.close() };
  }

  /** Starts the process and waits until it listens. */
  async run(): Promise<void> {
    await this.#writeUsers();
    const starts = count(await this.log(), 'Server is ready');
    const process = spawn('nats-server', ['-c', this.#path('nats.conf')], { stdio: 'ignore' });
    this.#process = process;
    await eventually(
      'nats-server',
      async () => count(await this.log(), 'Server is ready') > starts || undefined,
    );
  }

  /** Ends the process; connections end with it. */
  async kill(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    const ended = once(process, 'exit');
    process.kill('SIGKILL');
    await ended;
  }

  /** Ends the process and removes its files. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Signs the certificate of the director. */
  directorCertificate(): Promise<BusCertificate> {
    return this.#certificate(director);
  }

  /** Signs the certificate of an agent: the short-lived one of create_vm, or that of update_settings. */
  agentCertificate(agentId: string, kind: 'bootstrap' | 'permanent'): Promise<BusCertificate> {
    return this.#certificate(agentUser(agentId, kind));
  }

  /** Adds a CA, which signs all certificates from now on. A running process uses it after a restart. */
  async rotateAuthority(): Promise<void> {
    this.#authorities = [await createTestAuthority({ name: 'nats-ca-2' }), ...this.#authorities];
    await this.#writeCertificates();
  }

  /** Admits the certificates of these agents and no others, in the running server. */
  async admit(
    agents: readonly { readonly id: string; readonly kinds: readonly ('bootstrap' | 'permanent')[] }[],
  ): Promise<void> {
    this.#users = [
      ...fixedUsers,
      ...agents.flatMap(({ id, kinds }) =>
        kinds.map((kind) => ({
          name: agentUser(id, kind),
          publish: [...agentEvents.map((event) => `hm.agent.${event}.${id}`), `director.*.${id}.*`],
          subscribe: [`agent.${id}`],
        })),
      ),
    ];
    await this.#writeUsers();
    const reloads = count(await this.log(), 'Reloaded server configuration');
    this.#process?.kill('SIGHUP');
    await eventually(
      'the reload of nats-server',
      async () => count(await this.log(), 'Reloaded server configuration') > reloads || undefined,
    );
  }

  async log(): Promise<string> {
    return readFile(this.#path('nats.log'), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
  }

  /** The log's lines about a forbidden subject. There must be none. */
  async violations(): Promise<readonly string[]> {
    return (await this.log()).split('\n').filter((line) => /(Publish|Subscription) Violation/u.test(line));
  }

  async #certificate(name: string): Promise<BusCertificate> {
    const { certificate, key } = await this.#authorities[0].client(name, ['Cloud Foundry'], 'USA');
    return { certificate, privateKey: key, ca: this.ca };
  }

  async #writeCertificates(): Promise<void> {
    const pair: KeyPair = await this.#authorities[0].server({ ip: this.address }, this.#commonName);
    await writeFile(this.#path('server.pem'), pair.certificate);
    await writeFile(this.#path('server.key'), pair.key, { mode: 0o600 });
    await writeFile(this.#path('ca.pem'), this.ca);
  }

  async #writeUsers(): Promise<void> {
    const users = this.#users.map(({ name, publish, subscribe }) => ({
      user: `C=USA, O=Cloud Foundry, CN=${name}`,
      permissions: { publish, subscribe },
    }));
    await writeFile(
      this.#path('nats.conf'),
      JSON.stringify({
        listen: `${this.address}:${this.port}`,
        log_file: this.#path('nats.log'),
        tls: {
          cert_file: this.#path('server.pem'),
          key_file: this.#path('server.key'),
          ca_file: this.#path('ca.pem'),
          verify_and_map: true,
          timeout: 5,
        },
        authorization: { users },
      }),
    );
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

const fixedUsers: readonly NatsUser[] = [
  { name: director, publish: ['agent.*', 'hm.director.alert'], subscribe: ['director.>'] },
  {
    name: monitor,
    publish: [],
    subscribe: [...agentEvents.map((event) => `hm.agent.${event}.*`), 'hm.director.alert'],
  },
];

const agentUser = (agentId: string, kind: 'bootstrap' | 'permanent'): string =>
  kind === 'bootstrap' ? `${agentId}.bootstrap.agent.bosh-internal` : `${agentId}.agent.bosh-internal`;

const count = (text: string, part: string): number => text.split(part).length - 1;

/** The server writes its port nowhere, so that a free one is chosen before. */
export async function freePort(address = loopback): Promise<number> {
  const probe = createServer().listen(0, address);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Returns a certificate in the form of env.bosh.mbus and of update_settings. */
export const mbusSettings = ({ ca, certificate, privateKey }: BusCertificate): object => ({
  cert: { ca, certificate, private_key: privateKey },
});
