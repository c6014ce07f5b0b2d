import { randomUUID } from 'node:crypto';
import { NatsConnection } from '../mbus/nats-connection.ts';
import { systemClock } from '../../platform/clock.ts';
import { isObject, parseJsonObject } from '../../platform/json.ts';
import type { TestNatsServer } from './nats-server.ts';

/** How often the director repeats a request after a timeout (agent_client.rb). */
const retries: Readonly<Record<string, number>> = { get_task: 4, get_state: 2, upload_blob: 3 };

/** The director's side of the bus: sends requests to agents as bosh-director does (nats_rpc.rb). */
export class NatsDirector {
  readonly #connection: NatsConnection;
  readonly #id = randomUUID();
  readonly #pending = new Map<string, (response: unknown) => void>();

  readonly #pollMs: number;

  private constructor(connection: NatsConnection, pollMs: number) {
    this.#connection = connection;
    this.#pollMs = pollMs;
  }

  /** `pollMs`: the pause between two get_task. That of a director is a second. */
  static async connect(server: TestNatsServer, { pollMs = 20 } = {}): Promise<NatsDirector> {
    const { ca = '', ...pair } = await server.directorCertificate();
    const director: NatsDirector = new NatsDirector(
      await NatsConnection.open({
        server: { host: server.address, port: server.port },
        credentials: { ...pair, ca },
        subject: 'director.>',
        onMessage: (body, subject) => director.#receive(subject, body),
        onError: (error) => {
          throw error;
        },
      }),
      pollMs,
    );
    return director;
  }

  /** Sends one request and returns the response, `{value}` or `{exception}`; undefined after the timeout. */
  async request(
    agentId: string,
    method: string,
    args: readonly unknown[] = [],
    { timeoutMs = 45_000, requestId }: { timeoutMs?: number; requestId?: string } = {},
  ): Promise<Record<string, unknown> | undefined> {
    const replyTo = `director.${this.#id}.${agentId}.${requestId ?? randomUUID()}`;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#pending.set(replyTo, resolve);
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    this.publish(agentId, JSON.stringify({ protocol: 3, method, arguments: args, reply_to: replyTo }));
    try {
      const response = await promise;
      return isObject(response) ? response : undefined;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(replyTo);
    }
  }

  /** Waits for an agent, asking each second, as the director does. */
  async waitUntilReady(agentId: string, timeoutMs = 60_000): Promise<void> {
    const end = Date.now() + timeoutMs;
    while (Date.now() < end)
      if ((await this.request(agentId, 'ping', [], { timeoutMs: 1000 }))?.['value'] === 'pong') return;
    throw new Error(`agent ${agentId} did not answer within ${timeoutMs} ms`);
  }

  /** Calls a method, follows its task to the end, and returns its value. Throws the exception's message. */
  async call(agentId: string, method: string, ...args: readonly unknown[]): Promise<unknown> {
    let value = await this.#ask(agentId, method, args);
    for (let polls = 0; isRunning(value); polls += 1) {
      if (polls > 0) await systemClock.sleep(this.#pollMs);
      value = await this.#ask(agentId, 'get_task', [value.agent_task_id]);
    }
    return value;
  }

  /** Sends a request again as often as the director does if no response arrives in time. */
  async #ask(agentId: string, method: string, args: readonly unknown[]): Promise<unknown> {
    for (let left = retries[method] ?? 0; left > 0; left -= 1) {
      const response = await this.request(agentId, method, args);
      if (response !== undefined) return valueOf(method, response);
    }
    return valueOf(method, await this.request(agentId, method, args));
  }

  /** Sends any text to an agent. */
  publish(agentId: string, text: string): void {
    this.#connection.publish(`agent.${agentId}`, text);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #receive(subject: string, body: Uint8Array): void {
    const text = new TextDecoder().decode(body);
    this.#pending.get(subject)?.(parseJsonObject(text));
  }
}

const isRunning = (value: unknown): value is { readonly agent_task_id: string } =>
  isObject(value) && typeof value['agent_task_id'] === 'string' && value['state'] === 'running';

function valueOf(method: string, response: Record<string, unknown> | undefined): unknown {
  if (response === undefined) throw new Error(`${method}: the agent did not answer in time`);
  const exception = response['exception'];
  if (isObject(exception)) throw new Error(String(exception['message']));
  return response['value'];
}
