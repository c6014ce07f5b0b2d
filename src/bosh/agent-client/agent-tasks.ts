import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { MbusConnection } from './mbus-connection.ts';
import type { AgentClock } from './create-agent-client.ts';

export interface AgentTasksOptions {
  readonly connection: MbusConnection;
  readonly directorId: string;
  readonly clock: AgentClock;
  readonly signal: AbortSignal | undefined;
}

export interface CallOptions {
  /** Milliseconds that one answer may take. */
  readonly patience?: number;
}

/** bosh-cli waits a second between two polls, and takes 10 failures of transport while it waits for one task. */
const firstPause = 20;
const longestPause = 1000;
const toleratedFailures = 10;
const usualPatience = 45_000;

/**
 * The agent's method calls (bosh-agent: agentclient/http/agent_client.go). An answer that names a task is followed by
 * get_task until the task has ended.
 */
export class AgentTasks {
  readonly #connection: MbusConnection;
  readonly #directorId: string;
  readonly #clock: AgentClock;
  readonly #signal: AbortSignal | undefined;

  constructor({ connection, directorId, clock, signal }: AgentTasksOptions) {
    this.#connection = connection;
    this.#directorId = directorId;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** One request, one answer. AGENT_ERROR holds what the agent says. */
  async call(
    method: string,
    args: readonly unknown[],
    { patience = usualPatience }: CallOptions = {},
  ): Promise<unknown> {
    const body = Buffer.from(JSON.stringify({ method, arguments: args, reply_to: this.#directorId }));
    const request = {
      method: 'POST',
      path: '/agent',
      body: { stream: Readable.from([body]), length: body.length },
      patience,
    } as const;
    return this.#connection.send(request, async (answer) => {
      const content = await text(answer);
      if (answer.statusCode !== 200) throw this.#error(method, `HTTP status ${answer.statusCode}`);
      return this.#value(method, content);
    });
  }

  /** A call whose result comes from a task. */
  async run(method: string, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    let value = await this.call(method, args, options);
    let pause = 0;
    let failures = 0;
    for (let id = taskId(value); id !== undefined; id = taskId(value)) {
      if (pause > 0) await this.#clock.sleep(pause, this.#signal);
      this.#throwIfInterrupted(method);
      pause = Math.min(Math.max(pause * 2, firstPause), longestPause);
      try {
        value = await this.call('get_task', [id]);
      } catch (error) {
        failures += 1;
        if (!isProductError(error, 'AGENT_UNREACHABLE') || failures > toleratedFailures) throw error;
        pause = longestPause;
      }
    }
    return value;
  }

  /** A call that only asks: failures of transport are taken ten times, a second apart. */
  async ask(method: string, args: readonly unknown[]): Promise<unknown> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.call(method, args);
      } catch (error) {
        if (!isProductError(error, 'AGENT_UNREACHABLE') || failures > toleratedFailures) throw error;
      }
      await this.#clock.sleep(longestPause, this.#signal);
      this.#throwIfInterrupted(method);
    }
  }

  unexpected(method: string, expected: string): ProductError {
    return this.#error(method, `the answer is not ${expected}`);
  }

  #value(method: string, content: string): unknown {
    const answer = parseObject(content);
    if (answer === undefined) throw this.#error(method, 'the answer is not a JSON object');
    const { exception } = answer;
    if (exception === undefined || exception === null) return answer['value'];
    const message = typeof exception === 'object' && 'message' in exception ? exception.message : exception;
    throw this.#error(method, String(message));
  }

  #error(method: string, message: string): ProductError {
    return new ProductError(
      'AGENT_ERROR',
      `The agent at ${this.#connection.address} answered '${method}' with an error: ${message}`,
    );
  }

  #throwIfInterrupted(method: string): void {
    if (this.#signal?.aborted !== true) return;
    throw new ProductError(
      'INTERRUPTED',
      `Interrupted while the agent at ${this.#connection.address} works on '${method}'`,
    );
  }
}

function taskId(value: unknown): string | number | undefined {
  if (typeof value !== 'object' || value === null || !('agent_task_id' in value)) return undefined;
  const id = value.agent_task_id;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

function parseObject(content: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
