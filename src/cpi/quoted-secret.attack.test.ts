import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../embedded-cluster/api-server/testing/temporary-directory.ts';
import { startTlsServer } from '../kubernetes/testing/tls-server.ts';
import { answerRequest } from './answer.ts';
import type { CpiResponse } from './protocol/protocol.ts';
import type { OpenCall } from './open-call.ts';
import { quickLooks } from './testing/quick-looks.ts';
import { createVmArguments, createVmRequest, testCloud } from './testing/test-cloud.ts';

const password = 'p@ss/w0rd+1';
const mbus = `https://mbus:${encodeURIComponent(password)}@0.0.0.0:6868`;
const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const env = { bosh: { mbus: { cert: { private_key: key } } } };
const base64 = (value: string): string => Buffer.from(value).toString('base64');

/** The messages of servers, webhooks and proxies about an object that they refuse. */
const quotations: Readonly<Record<string, (body: string, request: IncomingMessage) => string>> = {
  'as it came': (body) => `Secret "vm-1" is invalid: stringData: Invalid value: ${body}`,
  'as Go prints a string': (body) =>
    `admission webhook "w.example" denied the request: ${JSON.stringify(body)}`,
  'as data in base64': (body) => `Secret "vm-1" is invalid: data: Invalid value: ${dataOf(body)}`,
  'in base64 as a whole': (body) => `cannot decode ${base64(body)}`,
  'with the header of the token': (_body, { headers }) => `header ${headers.authorization} of what you sent`,
};

const dataOf = (body: string): string => JSON.stringify((JSON.parse(body) as { data: object }).data);

suite('a Secret that a server rejects and quotes does not reach the director', () => {
  for (const [name, quote] of Object.entries(quotations))
    test(name, async (t) => {
      const { response, stderr } = await createVmWith(t, 422, quote);

      nothingOfSecrets(JSON.stringify(response) + stderr);
      assert.doesNotMatch(response.error?.message ?? '', /agent_id|settings\.json|ZXR0aW5n|eyJ/u);
      assert.match(
        response.error?.message ?? '',
        /creating secrets in namespace bosh failed: .*422 Invalid/u,
      );
      assert.match(response.error?.message ?? '', /stringData\.settings/u);
    });

  test('the rejecting policy, permission or quota is still named', async (t) => {
    for (const [said, told] of [
      ['admission webhook "w.example" denied the request: no', /webhook w\.example must admit it/u],
      ['secrets "vm-1" is forbidden: exceeded quota: few, requested: secrets=1', /raise ResourceQuota few/u],
      [
        'secrets is forbidden: User "u" cannot create resource "secrets" in API group "" in the namespace "bosh"',
        /User "u" .*lacks the verb "create" on "secrets" \(apiGroup ""\) in namespace bosh/u,
      ],
      ['namespaces "bosh" not found', /create the namespace or correct/u],
    ] as const) {
      const code = said.startsWith('namespaces') ? 404 : 403;
      const { response } = await createVmWith(t, code, () => said);
      assert.match(response.error?.message ?? '', told);
    }
  });
});

test('the log of a successful call is redacted, too', async (t) => {
  const { cloud } = await testCloud(t);
  const session: OpenCall = {
    call: cloud,
    log: () => `the server said: ${base64(`{"mbus":"${mbus}"}`)} and ${password}\n`,
    secrets: () => Promise.resolve([]),
    close: () => undefined,
  };
  const request = { method: 'has_disk', arguments: ['disk-1'], context: {} };

  const response = await answerRequest(JSON.stringify(request), {
    readConfig: () => Promise.resolve(JSON.stringify({ agent: { mbus } })),
    openCall: () => Promise.resolve(session),
  });

  assert.equal(response.error, null);
  assert.match(response.log, /^the server said: .*<redacted>/u);
  nothingOfSecrets(JSON.stringify(response));
});

test('progress lines of a waiting call are redacted, too', async (t) => {
  const { cloud, node } = await testCloud(t);
  node.unschedulable = `no node, by a webhook that quotes ${password}`;
  const lines: string[] = [];
  const session: OpenCall = {
    call: { ...cloud, clock: quickLooks, reportProgress: (line) => void lines.push(line) },
    log: () => '',
    secrets: () => Promise.resolve([]),
    close: () => undefined,
  };
  const args = createVmArguments(createVmRequest({ env: { bosh: { password } } }));

  await answerRequest(JSON.stringify({ method: 'create_vm', arguments: args, context: {} }), {
    readConfig: () => Promise.resolve('{}'),
    openCall: () => Promise.resolve(session),
  });

  assert.match(lines.join('\n'), /^waiting for a node to take pod .*quotes <redacted>/mu);
  nothingOfSecrets(lines.join('\n'));
});

function nothingOfSecrets(written: string): void {
  const runs = [...written.matchAll(/[\w+/]{8,}/gu)].map(([run]) => Buffer.from(run, 'base64').toString());
  const lines = key.split('\n').slice(1, 2);
  for (const shown of [written, ...runs])
    for (const secret of [password, encodeURIComponent(password), 'the-token-of-the-file', ...lines])
      assert.ok(!shown.includes(secret), written);
}

/**
 * Runs create_vm in a process of the CPI against a server that has no objects and refuses every new Secret.
 */
async function createVmWith(
  t: TestContext,
  code: number,
  quote: (body: string, request: IncomingMessage) => string,
): Promise<{ response: CpiResponse; stderr: string }> {
  const server = await startTlsServer((request, response) => {
    void text(request).then((body) => {
      const isWrite = request.method === 'POST' && /\/secrets(\?|$)/u.test(request.url ?? '');
      const status = isWrite ? code : 404;
      const causes = [{ reason: 'FieldValueInvalid', field: 'stringData.settings', message: body }];
      response.writeHead(status, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: status },
          reason: reasons[status],
          message: isWrite ? quote(body, request) : 'no such object',
          details: isWrite ? { kind: 'secrets', causes } : { name: 'x' },
        }),
      );
    });
  });
  t.after(() => server.close());
  const directory = temporaryDirectory(t);
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, 'the-token-of-the-file\n');
  const { server: url, ca, certificate = '', key: clientKey = '' } = server.access;
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'bosh' } }],
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': base64(ca ?? '') } }],
    users: [
      {
        name: 'u',
        user: {
          tokenFile,
          'client-certificate-data': base64(certificate),
          'client-key-data': base64(clientKey),
        },
      },
    ],
  };
  const config = join(directory, 'cpi.json');
  await writeFile(config, JSON.stringify({ kubernetes: { kubeconfig }, agent: { mbus } }));
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const cpi = spawn(process.execPath, [main, config], { stdio: 'pipe' });
  const networks = { default: { type: 'dynamic' } };
  cpi.stdin.end(
    JSON.stringify({
      method: 'create_vm',
      arguments: createVmArguments(createVmRequest({ env, networks })),
      context: {},
    }),
  );
  const [stdout, stderr] = await Promise.all([text(cpi.stdout), text(cpi.stderr)]);
  return { response: JSON.parse(stdout) as CpiResponse, stderr };
}

const reasons: Readonly<Record<number, string>> = { 403: 'Forbidden', 404: 'NotFound', 422: 'Invalid' };
