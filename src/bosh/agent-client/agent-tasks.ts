import { Readable } from 'node:stream';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { truncateAtWord } from '../../errors/text.ts';
import { toJson } from '../yaml/exact-json.ts';
import type { MbusConnection } from './mbus-connection.ts';
import { parseJsonObject } from '../../platform/json.ts';
import type { Clock } from '../../platform/clock.ts';

export interface AgentTasksOptions {
  readonly connection: MbusConnection;
  readonly directorId: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal | undefined;
  /** Returns a signal that is aborted after that many milliseconds. */
  readonly timeout: (milliseconds: number) => AbortSignal;
}

export interface CallOptions {
  /** Milliseconds that one response may take. */
  readonly idleTimeoutMs?: number;
}

export interface RunOptions extends CallOptions {
  /** Milliseconds after which a task that has not ended is given up; `defaultTaskTimeoutMs` by default. */
  readonly deadline?: number;
}

/**
 * As bosh-cli: at most a second between two polls, and 10 tolerated transport failures while it waits for one
 * task.
 */
const firstPause = 20;
const maxPauseMs = 1000;
const toleratedFailures = 10;
const defaultIdleTimeoutMs = 45_000;
/**
 * Total timeout of a response as a multiple of the idle timeout. Guards against responses that arrive byte by
 * byte.
 */
const maxResponseFactor = 4;
/** The maximum size of a response in bytes, and how many characters of it an error shows. */
const maxResponseBytes = 4 * 1024 * 1024;
const maxMessageLength = 4000;
/** One hour. Tasks that run a release's programs or move data have a day (create-agent-client.ts). */
const defaultTaskTimeoutMs = 3_600_000;

/**
 * The agent's method calls (bosh-agent: agentclient/http/agent_client.go). If a response has a task id, polls
 * get_task until the task has ended.
 */
export class AgentTasks {
  readonly #connection: MbusConnection;
  readonly #directorId: string;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #signal: AbortSignal | undefined;
  readonly #timeout: AgentTasksOptions['timeout'];

  constructor({ connection, directorId, clock, signal, timeout }: AgentTasksOptions) {
    this.#connection = connection;
    this.#directorId = directorId;
    this.#clock = clock;
    this.#signal = signal;
    this.#timeout = timeout;
  }

  /** Sends one request and returns the value of the response. AGENT_ERROR contains the agent's message. */
  async call(
    method: string,
    args: readonly unknown[],
    { idleTimeoutMs = defaultIdleTimeoutMs }: CallOptions = {},
  ): Promise<unknown> {
    const body = Buffer.from(toJson({ method, arguments: args, reply_to: this.#directorId }));
    const request = {
      method: 'POST',
      path: '/agent',
      body: { stream: Readable.from([body]), length: body.length },
      idleTimeoutMs,
      deadline: idleTimeoutMs * maxResponseFactor,
    } as const;
    return this.#connection.send(request, async (answer) => {
      const content = await readText(answer, maxResponseBytes);
      if (content === undefined) throw this.#error(method, `it is longer than ${maxResponseBytes} bytes`);
      if (answer.statusCode !== 200) throw this.#error(method, `HTTP status ${answer.statusCode}`);
      return this.#value(method, content);
    });
  }

  /** Calls a method and waits for its task. Rejects with DEADLINE if the task does not end. */
  async runTask(
    method: string,
    args: readonly unknown[],
    { deadline = defaultTaskTimeoutMs, ...options }: RunOptions = {},
  ): Promise<unknown> {
    const overdue = this.#timeout(deadline);
    const stop = this.#signal === undefined ? overdue : AbortSignal.any([this.#signal, overdue]);
    let value = await this.call(method, args, options);
    let pause = 0;
    let failures = 0;
    for (let id = taskId(value); id !== undefined; id = taskId(value)) {
      if (pause > 0) await this.#clock.sleep(pause, stop);
      this.#throwIfInterrupted(method);
      if (overdue.aborted) throw this.#timeoutError(method, deadline);
      pause = Math.min(Math.max(pause * 2, firstPause), maxPauseMs);
      try {
        value = await this.call('get_task', [id]);
      } catch (error) {
        failures += 1;
        if (!isProductError(error, 'AGENT_UNREACHABLE') || failures > toleratedFailures) throw error;
        pause = maxPauseMs;
      }
    }
    return value;
  }

  /** Calls a method that only reads. Tolerates ten transport failures and waits a second after each. */
  async callWithRetry(method: string, args: readonly unknown[]): Promise<unknown> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.call(method, args);
      } catch (error) {
        if (!isProductError(error, 'AGENT_UNREACHABLE') || failures > toleratedFailures) throw error;
      }
      await this.#clock.sleep(maxPauseMs, this.#signal);
      this.#throwIfInterrupted(method);
    }
  }

  unexpected(method: string, expected: string): ProductError {
    return this.#error(method, `the response is not ${expected}`);
  }

  #value(method: string, content: string): unknown {
    const answer = parseJsonObject(content);
    if (answer === undefined) throw this.#error(method, 'the response is not a JSON object');
    const { exception } = answer;
    if (exception === undefined || exception === null) return answer['value'];
    const message = typeof exception === 'object' && 'message' in exception ? exception.message : exception;
    throw this.#error(method, String(message));
  }

  #timeoutError(method: string, deadline: number): ProductError {
    return new ProductError(
      'DEADLINE',
      `The agent at ${this.#connection.address} has not finished '${method}' within ${deadline / 3_600_000} h; see its log in the VM, then run the command again`,
    );
  }

  #error(method: string, message: string): ProductError {
    const shown =
      message.length > maxMessageLength ? `${truncateAtWord(message, maxMessageLength)}…` : message;
    return new ProductError(
      'AGENT_ERROR',
      `The agent at ${this.#connection.address} answered '${method}' with an error: ${shown}`,
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

/** Reads the text of a stream. Returns undefined if it has more bytes than `limit`. */
export async function readText(
  stream: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function taskId(value: unknown): string | number | undefined {
  if (typeof value !== 'object' || value === null || !('agent_task_id' in value)) return undefined;
  const id = value.agent_task_id;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
