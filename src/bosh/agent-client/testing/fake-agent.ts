import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { buffer, text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { makeServerCertificate, type TestCertificate } from '../../testing/certificates.ts';
import type { AgentClient } from '../agent-client.ts';
import { createAgentClient, type AgentClientOptions } from '../create-agent-client.ts';

/** A request as the agent receives it. */
export interface Call {
  readonly method: string;
  readonly arguments: readonly unknown[];
  readonly reply_to: string;
}

/** Returns the value of a response; see FakeAgent. */
export type Handler = (call: Call) => unknown;

/**
 * An agent that responds with the value of `handle`. A thrown Error becomes its exception; 'drop' closes the
 * connection.
 */
export class FakeAgent {
  readonly calls: Call[] = [];
  readonly blobs = new Map<string, Buffer>();
  readonly slept: number[] = [];
  handle: Handler = () => 'pong';
  blobStatus: number | undefined;
  #port = 0;
  #tls: TestCertificate | undefined;

  async listen(t: TestContext, certificate: TestCertificate): Promise<void> {
    this.#tls = certificate;
    const server = createServer(
      { key: certificate.private_key, cert: certificate.certificate },
      (request, answer) => {
        void this.#serve(request, answer);
      },
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    const address = server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  get port(): number {
    return this.#port;
  }

  client(options: Partial<AgentClientOptions> & { credentials?: string } = {}): AgentClient {
    return createAgentClient({
      mbusUrl: `https://${options.credentials ?? 'mbus:p%40ss'}@127.0.0.1:${this.#port}`,
      ca: this.#tls?.ca,
      directorId: 'director',
      clock: { sleep: async (milliseconds) => void this.slept.push(milliseconds) },
      uuid: () => 'blob-id',
      ...options,
    });
  }

  async #serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const expected = `Basic ${Buffer.from('mbus:p@ss').toString('base64')}`;
    if (request.headers.authorization !== expected) {
      await buffer(request);
      answer.writeHead(401).end();
    } else if (request.url === '/agent') await this.#method(request, answer);
    else await this.#blob(request, answer);
  }

  async #method(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const call = JSON.parse(await text(request)) as Call;
    this.calls.push(call);
    try {
      const value = this.handle(call);
      if (value === 'drop') request.socket.destroy();
      else answer.end(typeof value === 'function' ? String(value()) : JSON.stringify({ value }));
    } catch (error) {
      answer.end(JSON.stringify({ exception: { message: (error as Error).message } }));
    }
  }

  async #blob(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    if (this.blobStatus !== undefined) {
      await buffer(request);
      answer.writeHead(this.blobStatus).end();
    } else if (request.method === 'PUT') {
      this.blobs.set(path, await buffer(request));
      answer.writeHead(201).end();
    } else {
      const blob = this.blobs.get(path);
      answer.writeHead(blob === undefined ? 404 : 200).end(blob);
    }
  }
}

/** Starts an agent with `handle`, or one that responds only to ping. It ends with the test. */
export async function startAgent(t: TestContext, handle?: Handler): Promise<FakeAgent> {
  const agent = new FakeAgent();
  if (handle !== undefined) agent.handle = handle;
  await agent.listen(t, await makeServerCertificate());
  return agent;
}

/** Responds with a task, then with `running` that many times, then with the value. */
export function task(running: number, value: unknown): Handler {
  let remaining = running;
  return ({ method }) => {
    if (method !== 'get_task') return { agent_task_id: 't-1', state: 'running' };
    remaining -= 1;
    return remaining < 0 ? value : { agent_task_id: 't-1', state: 'running' };
  };
}
