import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeServerCertificate } from '../testing/certificates.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createAgentClient } from './create-agent-client.ts';
import type { AgentClientOptions } from './create-agent-client.ts';
import { MbusConnection } from './mbus-connection.ts';
import { startAgent } from './testing/fake-agent.ts';

const timeout = 120_000;

/**
 * Starts an agent that root of its VM controls. `answer` writes its response. `open` counts the unfinished
 * responses.
 */
async function hostile(t: TestContext, answer: (response: ServerResponse) => void) {
  const certificate = await makeServerCertificate();
  const state = { open: 0 };
  const server = createServer(
    { key: certificate.private_key, cert: certificate.certificate },
    (request, response) => {
      request.resume();
      state.open += 1;
      response.on('close', () => (state.open -= 1));
      answer(response);
    },
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const mbus = { mbusUrl: `https://mbus:secret@127.0.0.1:${port}`, ca: certificate.ca };
  const client = (options: Partial<AgentClientOptions> = {}) =>
    createAgentClient({ ...mbus, directorId: 'd', clock: { sleep: async () => {} }, ...options });
  return { client, mbus, state };
}

function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(1 << 20, 'x');
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
}

test('an endless response is not buffered, and the connection is closed', { timeout }, async (t) => {
  const agent = await hostile(t, flood);
  await assert.rejects(agent.client().listDisks(), {
    code: 'AGENT_ERROR',
    message: /'list_disk' with an error: it is longer than 4194304 bytes/,
  });
  while (agent.state.open > 0) await new Promise(setImmediate);
});

test('an upload with an endless response completes, and the connection is closed', { timeout }, async (t) => {
  const agent = await hostile(t, (response) => flood(response.writeHead(201)));
  await agent.client().putBlob(import.meta.filename);
  while (agent.state.open > 0) await new Promise(setImmediate);
});

test('an endless blob does not fill the disk', { timeout }, async (t) => {
  const agent = await hostile(t, flood);
  const directory = await scratchDirectory(t);
  const blobs = agent.client({ maxBlobBytes: 8 << 20 });
  await assert.rejects(blobs.getBlob('b', join(directory, 'blob')), {
    code: 'AGENT_ERROR',
    message: /sends more than 8388608 bytes as blob 'b'/,
  });
  assert.deepEqual(await readdir(directory), []);
});

test('a task that never ends fails at its deadline', { timeout }, async (t) => {
  const agent = await startAgent(t, () => ({ agent_task_id: 'for-ever', state: 'running' }));
  const deadlines: number[] = [];
  const client = agent.client({
    timeout: (milliseconds) => {
      deadlines.push(milliseconds / 3_600_000);
      return AbortSignal.timeout(50);
    },
  });
  const given = { code: 'DEADLINE', message: /has not finished '\w+' within \d+ h/ };
  const blob = { name: 'p', version: 'v', sha1: 's', blobstoreId: 'b' };
  await assert.rejects(client.apply({}), given);
  await assert.rejects(client.mountDisk('d'), given);
  await assert.rejects(client.drain(), given);
  await assert.rejects(client.runScript('pre-start'), given);
  await assert.rejects(client.compilePackage(blob, []), given);
  assert.deepEqual(deadlines, [1, 1, 24, 24, 24]);
});

test(
  'a response that arrives byte by byte, so that the connection is never idle, fails at a deadline',
  { timeout },
  async (t) => {
    const agent = await hostile(t, (response) => {
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const request = { method: 'GET', path: '/agent', idleTimeoutMs: 10_000, deadline: 200 } as const;
    const drained = new MbusConnection(agent.mbus).send(request, async (answer) => {
      for await (const chunk of answer) void chunk;
    });
    await assert.rejects(drained, {
      code: 'AGENT_UNREACHABLE',
      message: /no complete response within 0\.2 s/,
    });
    while (agent.state.open > 0) await new Promise(setImmediate);
  },
);

test("an agent's message is truncated before it fills the terminal", async (t) => {
  const agent = await startAgent(t, () => {
    throw new Error('x'.repeat(1_000_000));
  });
  await assert.rejects(agent.client().stop(), ({ message }: Error) => message.length < 5000);
});

test(
  "an environment that disables Node's verification does not let the mbus accept an impostor",
  { timeout },
  async (t) => {
    const impostor = await hostile(t, (response) => void response.end('{"value":"pong"}'));
    const other = await makeServerCertificate();
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
    await assert.rejects(impostor.client({ ca: other.ca }).ping(), { code: 'AGENT_UNTRUSTED' });
  },
);

test("an agent's response to ssh and bundle_logs must be a valid address, key and path", async (t) => {
  const agent = await startAgent(t);
  const login = { status: 'success', ip: '10.0.0.5', host_public_key: 'ssh-rsa AAAA' };
  for (const wrong of [
    { host_public_key: 'ssh-rsa AAAA\n* ssh-rsa BBBB' },
    { host_public_key: '@cert-authority * ssh-rsa AAAA' },
    { ip: '-oProxyCommand=id' },
    { ip: 'other.example' },
    { status: 'failed' },
  ]) {
    agent.handle = () => ({ ...login, ...wrong });
    await assert.rejects(agent.client().setUpSsh('bosh_1', 'ssh-rsa CCCC'), { code: 'AGENT_ERROR' });
  }
  const bundle = { logs_tar_path: '/tmp/x', sha512: `sha512:${'0'.repeat(128)}` };
  for (const wrong of [
    { logs_tar_path: '/tmp/$(id)' },
    { logs_tar_path: '-x' },
    { logs_tar_path: '/tmp/x\n' },
    { sha512: 'sha1:00' },
  ]) {
    agent.handle = () => ({ ...bundle, ...wrong });
    await assert.rejects(agent.client().bundleLogs('bosh_1', ['job'], []), { code: 'AGENT_ERROR' });
  }
});
