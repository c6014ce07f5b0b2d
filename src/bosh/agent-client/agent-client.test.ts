import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeServerCertificate } from '../testing/certificates.ts';
import type { TestCertificate } from '../testing/certificates.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import type { AgentClient } from './agent-client.ts';
import { createAgentClient } from './create-agent-client.ts';
import type { AgentClientOptions } from './create-agent-client.ts';

interface Call {
  readonly method: string;
  readonly arguments: readonly unknown[];
  readonly reply_to: string;
}

type Handler = (call: Call) => unknown;

let tls: TestCertificate;
before(async () => {
  tls = await makeServerCertificate();
});

/** An agent that answers with what `handle` gives; a thrown Error is its exception, 'drop' ends the connection. */
class FakeAgent {
  readonly calls: Call[] = [];
  readonly blobs = new Map<string, Buffer>();
  readonly slept: number[] = [];
  handle: Handler = () => 'pong';
  blobStatus: number | undefined;
  #port = 0;

  async listen(t: TestContext, certificate = tls): Promise<void> {
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

  client(options: Partial<AgentClientOptions> & { credentials?: string } = {}): AgentClient {
    return createAgentClient({
      mbusUrl: `https://${options.credentials ?? 'mbus:p%40ss'}@127.0.0.1:${this.#port}`,
      ca: tls.ca,
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

async function startAgent(t: TestContext, handle?: Handler): Promise<FakeAgent> {
  const agent = new FakeAgent();
  if (handle !== undefined) agent.handle = handle;
  await agent.listen(t);
  return agent;
}

/** Answers a method with a task, then `running` that many times, then its value. */
function task(running: number, value: unknown): Handler {
  let left = running;
  return ({ method }) => {
    if (method !== 'get_task') return { agent_task_id: 't-1', state: 'running' };
    left -= 1;
    return left < 0 ? value : { agent_task_id: 't-1', state: 'running' };
  };
}

test('a ping is one request with the director in it', async (t) => {
  const agent = await startAgent(t);
  await agent.client().ping();
  assert.deepEqual(agent.calls, [{ method: 'ping', arguments: [], reply_to: 'director' }]);
});

test('every verb sends the method and arguments of bosh', async (t) => {
  const answers: Readonly<Record<string, unknown>> = {
    start: 'started',
    drain: 3,
    list_disk: ['d-1'],
    get_state: { job_state: 'running', networks: { default: { ip: '10.0.0.5' }, other: {} } },
    compile_package: { result: { blobstore_id: 'c-1', sha1: 'sha256:00' } },
  };
  const agent = await startAgent(t, ({ method }) => answers[method] ?? 'done');
  const client = agent.client();
  const blob = (name: string): { name: string; version: string; sha1: string; blobstoreId: string } => ({
    name,
    version: `${name}-v`,
    sha1: `${name}-s`,
    blobstoreId: `${name}-b`,
  });
  await client.apply({ a: 1 });
  await client.start();
  await client.stop();
  await client.runScript('pre-start', { A: 'b' });
  assert.equal(await client.drain(), 3);
  assert.deepEqual(await client.listDisks(), ['d-1']);
  await client.addPersistentDisk('d-1', { path: '/x' });
  await client.removePersistentDisk('d-1');
  await client.mountDisk('d-1');
  await client.unmountDisk('d-1');
  await client.migrateDisk();
  assert.deepEqual(await client.getState(), {
    jobState: 'running',
    addresses: { default: '10.0.0.5', other: undefined },
  });
  assert.deepEqual(await client.compilePackage(blob('p'), [blob('q')]), {
    blobstoreId: 'c-1',
    sha1: 'sha256:00',
  });
  assert.deepEqual(
    agent.calls.map((call) => [call.method, ...call.arguments]),
    [
      ['apply', { a: 1 }],
      ['start'],
      ['stop'],
      ['run_script', 'pre-start', { env: { A: 'b' } }],
      ['drain', 'shutdown', {}],
      ['list_disk'],
      ['add_persistent_disk', 'd-1', { path: '/x' }],
      ['remove_persistent_disk', 'd-1'],
      ['mount_disk', 'd-1'],
      ['unmount_disk', 'd-1'],
      ['migrate_disk'],
      ['get_state'],
      [
        'compile_package',
        'p-b',
        'p-s',
        'p',
        'p-v',
        { q: { name: 'q', version: 'q-v', sha1: 'q-s', blobstore_id: 'q-b' } },
      ],
    ],
  );
});

test('a task is polled at once, then ever slower up to a second', async (t) => {
  const agent = await startAgent(t, task(9, 'applied'));
  await agent.client().apply({});
  assert.deepEqual(agent.slept, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
  assert.ok(
    agent.calls.slice(1).every(({ method, arguments: [id] }) => method === 'get_task' && id === 't-1'),
  );
});

test('ten lost polls are taken, the eleventh is not', async (t) => {
  const lose = (count: number): Handler => {
    let left = count;
    return ({ method }) => {
      if (method !== 'get_task') return { agent_task_id: 't-1', state: 'running' };
      left -= 1;
      return left >= 0 ? 'drop' : 'stopped';
    };
  };
  const agent = await startAgent(t, lose(10));
  await agent.client().stop();
  agent.handle = lose(11);
  await assert.rejects(agent.client().stop(), { code: 'AGENT_UNREACHABLE' });
});

test('get_state is asked again when the connection is lost', async (t) => {
  let left = 3;
  const agent = await startAgent(t, () => (left-- > 0 ? 'drop' : { job_state: 'failing' }));
  assert.equal((await agent.client().getState()).jobState, 'failing');
  assert.deepEqual(agent.slept, [1000, 1000, 1000]);
});

test('what the agent says about a failure is told', async (t) => {
  const agent = await startAgent(t, () => {
    throw new Error('Running pre-stop: exit status 1');
  });
  await assert.rejects(agent.client().stop(), {
    code: 'AGENT_ERROR',
    message:
      /^The agent at https:\/\/127\.0\.0\.1:\d+ answered 'stop' with an error: Running pre-stop: exit status 1$/,
  });
});

test('agents that lack a newer method are fine', async (t) => {
  const agent = await startAgent(t, ({ method }) => {
    throw new Error(`unknown message ${method}`);
  });
  const client = agent.client();
  await client.runScript('post-start');
  await client.addPersistentDisk('d', 'hint');
  await client.removePersistentDisk('d');
  await assert.rejects(client.mountDisk('d'), { code: 'AGENT_ERROR' });
});

test('answers of another shape are errors', async (t) => {
  const agent = await startAgent(t, () => () => 'not JSON');
  const client = agent.client();
  await assert.rejects(client.ping(), { code: 'AGENT_ERROR', message: /not a JSON object/ });
  agent.handle = () => 'other';
  const calls = [
    () => client.ping(),
    () => client.start(),
    () => client.drain(),
    () => client.listDisks(),
    () => client.getState(),
  ];
  for (const call of calls) await assert.rejects(call, { code: 'AGENT_ERROR', message: /the answer is not/ });
  await assert.rejects(client.compilePackage({ name: 'p', version: '', sha1: '', blobstoreId: '' }, []), {
    code: 'AGENT_ERROR',
  });
});

test('a certificate of another CA is refused at once', async (t) => {
  const agent = await startAgent(t);
  const other = await makeServerCertificate();
  await assert.rejects(agent.client({ ca: other.ca }).ping(), {
    code: 'AGENT_UNTRUSTED',
    message: /cloud_provider\.cert\.ca/,
  });
  await assert.rejects(agent.client({ ca: undefined }).ping(), { code: 'AGENT_UNTRUSTED' });
  await assert.rejects(agent.client({ ca: undefined }).getState(), { code: 'AGENT_UNTRUSTED' });
  assert.deepEqual([agent.calls, agent.slept], [[], []]);
});

test('a certificate for another address is refused', async (t) => {
  const agent = new FakeAgent();
  const elsewhere = await makeServerCertificate('10.9.9.9');
  await agent.listen(t, elsewhere);
  await assert.rejects(agent.client({ ca: elsewhere.ca }).ping(), { code: 'AGENT_UNTRUSTED' });
});

test('credentials never show', async (t) => {
  const agent = await startAgent(t);
  const failing = [
    agent.client({ credentials: 'mbus:hunter2' }),
    agent.client({ mbusUrl: 'https://mbus:hunter2@127.0.0.1:1' }),
    agent.client({ mbusUrl: 'https://mbus:hunter2@host.invalid:1' }),
  ];
  for (const client of failing) {
    await assert.rejects(client.ping(), (error: Error) => {
      assert.ok(!`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`.includes('hunter2'));
      return true;
    });
  }
  await assert.rejects(agent.client({ credentials: 'mbus:wrong' }).ping(), {
    code: 'AGENT_UNTRUSTED',
    message: /user and password/,
  });
  assert.throws(() => agent.client({ mbusUrl: 'nats://mbus:hunter2@x' }), {
    code: 'INVALID_ARGUMENT',
    message: /^[^2]*$/,
  });
});

test('nobody there is AGENT_UNREACHABLE', async (t) => {
  const agent = await startAgent(t);
  await assert.rejects(agent.client({ mbusUrl: 'https://a:b@127.0.0.1:1' }).ping(), {
    code: 'AGENT_UNREACHABLE',
    message: /https:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/,
  });
});

test('an interrupt ends a wait', async (t) => {
  const agent = await startAgent(t, task(1_000_000, ''));
  const controller = new AbortController();
  const clock = {
    sleep: async (): Promise<void> => {
      if (agent.calls.length > 3) controller.abort();
    },
  };
  await assert.rejects(agent.client({ signal: controller.signal, clock }).stop(), { code: 'INTERRUPTED' });
});

test('blobs go where davcli puts them and come back whole', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  const content = Buffer.alloc(3_000_000, 'blob');
  await writeFile(join(directory, 'in'), content);
  assert.equal(await agent.client().putBlob(join(directory, 'in')), 'blob-id');
  const shard = createHash('sha1').update('blob-id').digest('hex').slice(0, 2);
  assert.deepEqual([...agent.blobs.keys()], [`/blobs/${shard}/blob-id`]);
  await agent.client().getBlob('blob-id', join(directory, 'out'));
  assert.ok(content.equals(await readFile(join(directory, 'out'))));
  await assert.rejects(agent.client().getBlob('none', join(directory, 'x')), {
    code: 'AGENT_ERROR',
    message: /'none'.*404/,
  });
  assert.deepEqual((await readdir(directory)).toSorted(), ['in', 'out']);
});

test('an empty file is a blob too', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  await writeFile(join(directory, 'in'), '');
  await agent.client().putBlob(join(directory, 'in'));
  assert.equal([...agent.blobs.values()][0]?.length, 0);
});

test('an upload that fails is tried three times', async (t) => {
  const directory = await scratchDirectory(t);
  const agent = await startAgent(t);
  await writeFile(join(directory, 'in'), Buffer.alloc(1_000_000));
  agent.blobStatus = 503;
  await assert.rejects(agent.client().putBlob(join(directory, 'in')), {
    code: 'AGENT_UNREACHABLE',
    message: /503/,
  });
  assert.deepEqual(agent.slept, [1000, 1000]);
  agent.blobStatus = 200;
  await assert.rejects(agent.client().putBlob(join(directory, 'in')), {
    code: 'AGENT_ERROR',
    message: /HTTP status 200/,
  });
  await assert.rejects(agent.client().putBlob(join(directory, 'none')), { code: 'FILE_NOT_FOUND' });
  await assert.rejects(agent.client({ credentials: 'a:b' }).putBlob(join(directory, 'in')), {
    code: 'AGENT_UNTRUSTED',
  });
});
