import assert from 'node:assert/strict';
import { request } from 'node:https';
import { systemClock } from '../../platform/clock.ts';
import { isObject } from '../../platform/json.ts';

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface AgentClientOptions {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly authorization: string;
}

/**
 * A client that works as create-env does: HTTPS with a verified certificate, Basic authentication, get_task
 * polls.
 */
export class AgentClient {
  readonly #options: AgentClientOptions;

  constructor(options: AgentClientOptions) {
    this.#options = options;
  }

  send(method: string, path: string, body?: string | Buffer, authorization?: string): Promise<Answer> {
    const { host, port, ca } = this.#options;
    const headers = { authorization: authorization ?? this.#options.authorization };
    return new Promise((resolve, reject) => {
      const call = request({ host, port, path, method, headers, ca, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body);
    });
  }

  /** Returns the raw response of a method. */
  async call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const answer = await this.send(
      'POST',
      '/agent',
      JSON.stringify({ method, arguments: args, reply_to: 'director' }),
    );
    assert.equal(answer.status, 200);
    return JSON.parse(answer.body.toString('utf8'));
  }

  /** Returns the value of a synchronous method. Throws an exception of the agent with its message. */
  async value(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const answer = await this.call(method, ...args);
    assert.ok(isObject(answer));
    if (isObject(answer['exception'])) throw new Error(String(answer['exception']['message']));
    return answer['value'];
  }

  /** Returns the final value of an asynchronous method. */
  async task(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const begun = await this.value(method, ...args);
    assert.ok(isObject(begun) && typeof begun['agent_task_id'] === 'string', `${method} answered no task`);
    const deadline = systemClock.now() + 60_000;
    for (;;) {
      const now = await this.value('get_task', begun['agent_task_id']);
      if (!isObject(now) || !('agent_task_id' in now)) return now;
      assert.ok(systemClock.now() < deadline, `task of ${method} did not end`);
      await systemClock.sleep(20);
    }
  }
}
