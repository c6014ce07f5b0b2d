import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { openLocalApi, type LocalApi } from '../local-api.ts';
import { loadCredentials } from '../pki/credentials.ts';
import type { Credentials } from '../pki/certificates.ts';
import { startApiServer } from '../start-api-server.ts';
import { FakeConsole } from './fake-console.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly json: () => unknown;
}

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends no client certificate. */
  readonly anonymous?: boolean;
}

export interface TestServer {
  readonly api: LocalApi;
  /** The cluster's directory, which contains `kubeconfig`. */
  readonly directory: string;
  readonly console: FakeConsole;
  readonly url: string;
  readonly credentials: Credentials;
  call(path: string, call?: Call): Promise<Answer>;
  /** Returns the response when its headers have arrived. It is destroyed after the test. */
  open(path: string, call?: Call): Promise<IncomingMessage>;
}

/** Starts a real server on a free port. It is closed after the test. */
export async function startTestServer(t: TestContext, historySize?: number): Promise<TestServer> {
  const directory = temporaryDirectory(t);
  const api = await openLocalApi({ directory, ...(historySize === undefined ? {} : { historySize }) });
  const fake = new FakeConsole();
  const errors: unknown[] = [];
  const server = await startApiServer({
    api,
    console: fake,
    directory,
    onError: (error) => errors.push(error),
  });
  t.after(async () => {
    await server.close();
    await api.close();
    assert.deepEqual(errors, []);
  });
  const credentials = await loadCredentials(directory, Date.now());
  assert.equal(readFileSync(server.kubeconfig, 'utf8').includes(server.url), true);
  const open = (path: string, call: Call = {}): Promise<IncomingMessage> =>
    send(server.url, credentials, path, call);
  return {
    api,
    directory,
    console: fake,
    url: server.url,
    credentials,
    open,
    call: async (path, call) => read(await open(path, call)),
  };
}

function send(url: string, credentials: Credentials, path: string, call: Call): Promise<IncomingMessage> {
  const body =
    call.body === undefined
      ? undefined
      : typeof call.body === 'string'
        ? call.body
        : JSON.stringify(call.body);
  const client =
    call.anonymous === true ? {} : { cert: credentials.adminCertificate, key: credentials.adminKey };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${path}`,
      {
        method: call.method ?? 'GET',
        ca: credentials.authority,
        ...client,
        agent: false,
        headers: {
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...call.headers,
        },
      },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    code: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: () => JSON.parse(text) as unknown,
  };
}
