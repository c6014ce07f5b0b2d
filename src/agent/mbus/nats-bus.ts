import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import type { BusCertificate } from '../settings/settings.ts';
import type { Bus } from './bus.ts';
import { dispatch, type AgentResponse, type DispatchOptions } from './dispatch.ts';
import { defaultConnectTimeoutMs, NatsConnection, type NatsCredentials } from './nats-connection.ts';
import { encodeResponse, parseNatsMessage } from './nats-message.ts';
import { describeServer, type NatsServer } from './nats-servers.ts';

export interface NatsBusOptions {
  readonly agentId: string;
  readonly servers: readonly NatsServer[];
  /** The credentials in the order in which they are tried. At least one. */
  readonly credentials: readonly NatsCredentials[];
  /** Runs after each new connection. */
  readonly onConnected: () => void;
  /** How long new credentials are tried, in milliseconds. */
  readonly exchangeDeadlineMs: number;
  /** See NatsConnectionOptions. */
  readonly connectTimeoutMs?: number;
  readonly pingIntervalMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const shortestPauseMs = 1000;
const longestPauseMs = 10_000;
/** How many reply subjects are remembered. During an exchange of credentials each request arrives twice. */
const rememberedReplies = 1000;
/**
 * How many characters of responses wait for a connection; the oldest are dropped. The director waits 45 s for
 * a response, and asks again for the result of a task.
 */
const waitingLimit = 4 * 1024 * 1024;
/** How many different problems of one connection are logged. */
const mostProblems = 100;

/**
 * The bus of an agent of a director: requests, responses and events over NATS. It connects again for ever,
 * because a director admits a new VM only some seconds after its creation.
 */
export class NatsBus implements Bus {
  readonly port = undefined;
  readonly hasHealthMonitor = true;
  readonly #options: NatsBusOptions;
  readonly #closing = new AbortController();
  readonly #handled = new Set<string>();
  #dispatch: DispatchOptions | undefined;
  #running: Promise<void> = Promise.resolve();
  /** The end of connections that are not in use any more. */
  #draining: Promise<void> = Promise.resolve();
  #credentials: readonly NatsCredentials[];
  #connection: NatsConnection | undefined;
  /** Responses that no connection could take yet. */
  #waiting: WaitingResponse[] = [];
  /** The problems of this round of attempts, or of this connection. */
  #problems = new Set<string>();
  /** The problems of the previous round. A problem is logged if it is in neither. */
  #previousProblems: ReadonlySet<string> = new Set();

  constructor(options: NatsBusOptions) {
    this.#options = options;
    this.#credentials = options.credentials;
  }

  /** Begins to connect, and resolves at once. */
  async start(dispatchOptions: DispatchOptions): Promise<void> {
    this.#dispatch = dispatchOptions;
    this.#running = this.#run();
  }

  publish(event: 'heartbeat' | 'alert' | 'shutdown', body: unknown): void {
    if (this.#connection?.isClosed !== false) return;
    this.#send(this.#connection, {
      subject: `hm.agent.${event}.${this.#options.agentId}`,
      body: JSON.stringify(body),
    });
  }

  /**
   * Exchanges the credentials without losing a request: opens a second connection, waits until it is
   * subscribed, calls `commit`, resolves, and then ends the first one. As long as there are two, both receive
   * each request, and the first copy is handled. Rejects with AGENT_BUS_FAILED if the server does not accept
   * the certificate within `exchangeDeadlineMs`, and with the error of `commit`; then the first connection
   * stays in use.
   */
  async exchangeCertificate(certificate: BusCertificate, commit: () => Promise<void>): Promise<void> {
    const credentials = natsCredentials(certificate);
    const next = await this.#connectBefore(credentials, this.#options.exchangeDeadlineMs);
    try {
      await commit();
    } catch (error) {
      await next.close();
      throw error;
    }
    if (this.#closing.signal.aborted) return next.close();
    const previous = this.#connection;
    this.#credentials = [credentials, ...this.#options.credentials];
    this.#use(next);
    if (previous !== undefined) this.#draining = this.#draining.then(() => previous.drain());
  }

  /**
   * Answers nothing more and ends the connection. An attempt that has begun may last longer; it closes the
   * connection that it opens.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#draining;
    if (this.#connection === undefined) return;
    await this.#connection.drain();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const connection = this.#connection ?? (await this.#connect());
      if (connection === undefined) return;
      const { clock } = this.#options;
      const begin = clock.now();
      const reason = await connection.closed();
      if (this.#connection !== connection) continue;
      this.#connection = undefined;
      if (this.#closing.signal.aborted) return;
      this.#reportProblem(`the connection to ${at(connection.server)} ended`, reason);
      // A server that accepts each connection only to end it is not connected to without a pause.
      if (clock.now() - begin < shortestPauseMs) await clock.sleep(shortestPauseMs, this.#closing.signal);
    }
  }

  /** Tries every server with every credentials until one accepts; undefined if the bus is closed first. */
  async #connect(): Promise<NatsConnection | undefined> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    for (let pause = shortestPauseMs; !signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
      for (const credentials of this.#credentials) {
        const opened = await this.#tryServers(credentials);
        // The bus may have been closed since, or an exchange of credentials may have opened a connection.
        if (signal.aborted || this.#connection !== undefined) await opened?.close();
        else if (opened !== undefined) this.#use(opened);
        if (signal.aborted) return undefined;
        if (this.#connection !== undefined) return this.#connection;
      }
      this.#previousProblems = this.#problems;
      this.#problems = new Set();
      await clock.sleep(pause, signal);
    }
    return undefined;
  }

  async #tryServers(credentials: NatsCredentials): Promise<NatsConnection | undefined> {
    for (const server of this.#options.servers) {
      try {
        return await this.#open(server, credentials);
      } catch (error) {
        this.#reportProblem(`${at(server)} is not usable`, error);
      }
    }
    return undefined;
  }

  async #connectBefore(credentials: NatsCredentials, deadlineMs: number): Promise<NatsConnection> {
    const { clock, servers } = this.#options;
    const { signal } = this.#closing;
    const end = clock.now() + deadlineMs;
    let problem: unknown;
    for (let hasTimeLeft = true; hasTimeLeft && !signal.aborted;) {
      for (const server of servers) {
        hasTimeLeft = clock.now() + shortestPauseMs < end;
        if (!hasTimeLeft) break;
        try {
          const connection = await this.#open(server, credentials, end - clock.now());
          if (!signal.aborted) return connection;
          await connection.close();
        } catch (error) {
          problem = error;
        }
      }
      if (hasTimeLeft) await clock.sleep(shortestPauseMs, signal);
    }
    throw new ProductError(
      'AGENT_BUS_FAILED',
      signal.aborted
        ? 'the agent ends, so it keeps the previous credentials of NATS: repeat the request'
        : `NATS did not accept the new credentials within ${deadlineMs / 1000} s, so the agent keeps the previous ones: ${errorMessage(problem)}; ${nextStep(errorMessage(problem))}`,
      { cause: problem },
    );
  }

  #open(server: NatsServer, credentials: NatsCredentials, timeLeftMs = Infinity): Promise<NatsConnection> {
    const { agentId, connectTimeoutMs = defaultConnectTimeoutMs, pingIntervalMs } = this.#options;
    return NatsConnection.open({
      ...{ server, credentials, subject: `agent.${agentId}`, pingIntervalMs },
      connectTimeoutMs: Math.min(connectTimeoutMs, timeLeftMs),
      onMessage: (body) => void this.#handle(body),
      onError: (error) => this.#reportProblem(`${at(server)} reports a problem`, error),
    });
  }

  #use(connection: NatsConnection): void {
    this.#connection = connection;
    this.#problems.clear();
    this.#previousProblems = new Set();
    this.#options.log.info(`agent ${this.#options.agentId} is connected to ${at(connection.server)}`);
    for (const { subject, response } of this.#waiting.splice(0)) this.#respond(subject, response);
    this.#options.onConnected();
  }

  async #handle(body: Uint8Array): Promise<void> {
    const message = parseNatsMessage(body);
    if (message === undefined)
      return this.#report('a message is not a request of a director; check who may publish to agent.*');
    const { replyTo, request } = message;
    const dispatchOptions = this.#dispatch;
    if (dispatchOptions === undefined || this.#closing.signal.aborted || this.#isRepeated(replyTo)) return;
    this.#respond(replyTo, request === undefined ? notARequest : await dispatch(request, dispatchOptions));
  }

  #isRepeated(replyTo: string): boolean {
    if (this.#handled.has(replyTo)) return true;
    this.#handled.add(replyTo);
    for (const oldest of this.#handled) {
      if (this.#handled.size <= rememberedReplies) break;
      this.#handled.delete(oldest);
    }
    return false;
  }

  #respond(subject: string, response: AgentResponse): void {
    const connection = this.#connection;
    if (connection?.isClosed === false) {
      const body = encodeResponse(response, connection.longestMessage);
      return this.#send(connection, { subject, body });
    }
    this.#waiting.push({ subject, response, size: encodeResponse(response).length });
    const sizeOfAll = (): number => this.#waiting.reduce((sum, { size }) => sum + size, 0);
    while (sizeOfAll() > waitingLimit) this.#waiting.shift();
  }

  /** A message that the library refuses must not end the agent. */
  #send(connection: NatsConnection, { subject, body }: Message): void {
    try {
      connection.publish(subject, body);
    } catch (error) {
      this.#reportProblem(`a message of ${body.length} characters could not be sent`, error);
    }
  }

  #reportProblem(problem: string, reason: unknown): void {
    const text = reason === undefined ? problem : `${problem}: ${errorMessage(reason)}`;
    this.#report(`${text}; ${nextStep(errorMessage(reason))}, the agent tries again`);
  }

  /** Logs a problem unless the previous round had it, too: once for each change, not for each try. */
  #report(text: string): void {
    if (this.#closing.signal.aborted) return;
    const isNew = !this.#problems.has(text) && !this.#previousProblems.has(text);
    if (this.#problems.size >= mostProblems) return;
    this.#problems.add(text);
    if (isNew) this.#options.log.error(`mbus: ${text}`);
  }
}

const notARequest: AgentResponse = {
  exception: {
    message: 'the message is not a request: it needs a method and a list of arguments; send it again',
  },
};

interface Message {
  readonly subject: string;
  readonly body: string;
}

interface WaitingResponse {
  readonly subject: string;
  readonly response: AgentResponse;
  /** In characters. */
  readonly size: number;
}

/**
 * Returns a certificate with the CA of the server. Throws AGENT_SETTINGS_INVALID if there is no CA: without
 * it the server could not be verified.
 */
export function natsCredentials({ ca, ...pair }: BusCertificate): NatsCredentials {
  if (ca !== undefined) return { ...pair, ca };
  throw new ProductError(
    'AGENT_SETTINGS_INVALID',
    'the certificate of the bus has no ca, and a NATS server is not used without a check of its certificate',
  );
}

const at = (server: NatsServer): string => `NATS at ${describeServer(server)}`;

function nextStep(problem: string): string {
  if (/permissions violation/iu.test(problem))
    return "check that the certificate is that of this VM's agent and that nats-sync gives it its subjects";
  if (/support 'tls'/iu.test(problem))
    return "check that agent.mbus is the URL of a director's NATS, which uses TLS";
  if (/authorization violation/iu.test(problem))
    return 'the director admits a new VM within some 10 s; if this lasts, check that nats-sync runs';
  if (/certificate|self.signed|issuer|common name|altname/iu.test(problem))
    return "check that the CA in env.bosh.mbus.cert has signed the server's certificate";
  return 'check that the director runs and that its port of NATS is reachable from this VM';
}
