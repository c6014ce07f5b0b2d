import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { temporaryDirectory } from '../../../embedded-cluster/api-server/testing/temporary-directory.ts';
import { isProductError } from '../../errors/product-error.ts';
import type { Access } from './access.ts';
import { isApiError } from '../client/api-error.ts';
import { loadAccess } from './kubeconfig-access.ts';
import { openTransport } from '../client/open-transport.ts';
import { execInPod } from '../client/exec.ts';
import { type RecordingServer, startRecordingServer } from '../testing/recording-server.ts';
import { bunIsMissing, runInBun } from '../testing/run-in-bun.ts';

const base64 = (pem = ''): string => Buffer.from(pem).toString('base64');

/** Returns the administrator's kubeconfig for an access, with further fields of its user. */
function kubeconfigOf({ server, ca, certificate, key, tlsServerName, proxy }: Access, user: object): object {
  return {
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'one', user: 'admin', namespace: 'bosh' } }],
    clusters: [
      {
        name: 'one',
        cluster: {
          server,
          'certificate-authority-data': base64(ca),
          'tls-server-name': tlsServerName,
          'proxy-url': proxy,
        },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': base64(certificate),
          'client-key-data': base64(key),
          ...user,
        },
      },
    ],
  };
}

const one = {
  as: 'system:serviceaccount:bosh:deployer',
  'as-uid': 'u-1',
  'as-groups': ['deployers'],
  'as-user-extra': { 'example.com/Reason%': ['a job, not an admin'] },
};
const several = { ...one, 'as-groups': ['deployers', 'a, b'], 'as-user-extra': { scopes: ['one', 'two'] } };

const linesOfOne = [
  ['impersonate-extra-example.com%2freason%25', 'a job, not an admin'],
  ['impersonate-group', 'deployers'],
  ['impersonate-uid', 'u-1'],
  ['impersonate-user', 'system:serviceaccount:bosh:deployer'],
];
const linesOfSeveral = [
  ['impersonate-extra-scopes', 'one'],
  ['impersonate-extra-scopes', 'two'],
  ['impersonate-group', 'a, b'],
  ['impersonate-group', 'deployers'],
  ...linesOfOne.slice(2),
];

suite('a kubeconfig with `as` speaks as that user and never as the administrator', () => {
  for (const { name, user, lines } of [
    { name: 'a user', user: one, lines: linesOfOne },
    { name: 'a user of several groups', user: several, lines: linesOfSeveral },
  ]) {
    test(`requests, watches and commands of ${name}, in Node`, async (t) => {
      const server = await recording(t);
      for (const way of [server.access, server.proxied]) {
        const transport = await openTransport(await loadAccess(kubeconfigOf(way, user)));
        t.after(() => transport.close());
        await transport.request({ method: 'POST', path: '/api/v1/pods', body: '{}' });
        for await (const _ of (await transport.stream({ method: 'GET', path: '/watch' })).chunks);
      }
      const command = { namespace: 'bosh', pod: 'vm-1', container: 'bosh', command: ['echo'] };
      await execInPod(await loadAccess(kubeconfigOf(server.exec, user)), { ...command, deadlineMs: 10_000 });

      assert.equal(server.requests.length, 5);
      allSay(server, lines);
    });
  }

  test('requests, watches and commands, in Bun', { skip: bunIsMissing() ?? false }, async (t) => {
    const server = await recording(t);

    const results = await runInBun('./impersonation-in-bun.ts', await accessesOf(server, one));

    assert.deepEqual(results, [{ name: 'direct' }, { name: 'proxied' }, { name: 'exec' }]);
    assert.equal(server.requests.length, 5);
    allSay(server, linesOfOne);
  });

  test(
    'Bun would join several groups into one of another name: refused before anything is sent',
    {
      skip: bunIsMissing() ?? false,
    },
    async (t) => {
      const server = await recording(t);

      const results = await runInBun('./impersonation-in-bun.ts', await accessesOf(server, several));

      for (const { error } of results) assert.match(String(error), /as-groups.*node_path/u);
      assert.deepEqual(server.requests, []);
    },
  );

  test('the CPI with the kubeconfig that the job renders', async (t) => {
    const server = await recording(t);
    const config = join(temporaryDirectory(t), 'cpi.json');
    const kubeconfig = kubeconfigOf(server.access, several);
    await writeFile(config, JSON.stringify({ kubernetes: { kubeconfig }, agent: { mbus: 'nats://n' } }));
    const main = fileURLToPath(new URL('../../cpi/main.ts', import.meta.url));
    const cpi = spawn(process.execPath, [main, config], { stdio: ['pipe', 'pipe', 'inherit'] });
    cpi.stdin.end(JSON.stringify({ method: 'has_disk', arguments: ['disk-1'], context: {} }));

    const answer = await text(cpi.stdout);

    assert.ok(server.requests.length > 0, answer);
    allSay(server, linesOfSeveral);
  });

  test('the embedded API gives the rights of that user', async (t) => {
    const server = await startTestServer(t);
    const { authority, adminCertificate, adminKey } = server.credentials;
    const whole = { ca: authority, certificate: adminCertificate, key: adminKey };
    const way = { server: server.url, ...whole, namespace: 'default' };
    const statusAs = async (user: object): Promise<number> => {
      const transport = await openTransport(await loadAccess(kubeconfigOf(way, user)));
      t.after(() => transport.close());
      return (await transport.request({ method: 'GET', path: '/api/v1/namespaces/bosh/secrets' })).status;
    };

    const command = {
      namespace: 'bosh',
      pod: 'vm-1',
      container: 'bosh',
      command: ['true'],
      deadlineMs: 10_000,
    };
    const execAs = async (user: object): Promise<unknown> =>
      execInPod(await loadAccess(kubeconfigOf(way, user)), command);

    await assert.rejects(execAs({}), (error) => isApiError(error, 404));
    await assert.rejects(execAs(one), (error) => isApiError(error, 403));
    assert.equal(await statusAs({}), 200);
    assert.equal(await statusAs(one), 403);
    assert.equal(await statusAs({ as: 'jane', 'as-groups': ['a', 'system:masters'] }), 200);
  });
});

test('as-groups, as-uid and as-user-extra without `as` are refused, as by client-go', async () => {
  for (const { as: _, ...others } of [one, { ...one, as: '' }, { ...one, as: null }])
    for (const [key, value] of Object.entries(others)) {
      const message = await refusal({ [key]: value });
      assert.match(message, new RegExp(`users\\[0\\]\\.user\\.${key} .*\`as\``, 'u'));
    }
});

test('what could end a header or would arrive as another name is refused, and not quoted', async () => {
  const bad = ['s3cret\r\nImpersonate-Group: system:masters', 's3cret\n', 's3cret\0', 's3cret\t', ' s3cret'];
  for (const hostile of [...bad, 's3cret ', 's3crét', 5, {}])
    for (const user of [
      { as: hostile },
      { as: 'jane', 'as-uid': hostile },
      { as: 'jane', 'as-groups': ['a', hostile] },
      { as: 'jane', 'as-groups': hostile },
      { as: 'jane', 'as-user-extra': { scopes: [hostile] } },
    ]) {
      const message = await refusal(user);
      assert.match(message, /^kubeconfig: users\[0\]\.user\.as/u);
      assert.doesNotMatch(message, /s3cr|masters/u);
    }
  for (const user of [
    { as: 'jane', 'as-groups': [''] },
    { as: 'jane', 'as-user-extra': { '': ['a'] } },
    { as: 'jane', 'as-user-extra': { scopes: 'a' } },
    { as: 'jane', 'as-user-extra': ['a'] },
  ])
    assert.match(await refusal(user), /^kubeconfig: users\[0\]\.user\.as-/u);
});

test('any key of as-user-extra becomes one header, from which a server reads the same key', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (key) => {
      const user = { as: 'jane', 'as-user-extra': { [key]: ['v'] } };
      const { impersonation = {} } = await loadAccess(kubeconfigOf(bare, user));
      const [name = ''] = Object.keys(impersonation).filter((header) => header.includes('extra'));
      assert.match(name, /^impersonate-extra-[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u);
      const read = decodeURIComponent(name.slice('impersonate-extra-'.length));
      const inLowerCase = key.toWellFormed().replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
      assert.equal(read, inLowerCase);
    }),
  );
});

const bare: Access = {
  server: 'https://k8s.example',
  ca: '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----',
  certificate: '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----',
  key: '-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----',
  namespace: 'bosh',
};

async function refusal(user: object): Promise<string> {
  try {
    await loadAccess(kubeconfigOf(bare, user));
  } catch (error) {
    assert.ok(isProductError(error, 'INVALID_CONFIG'), String(error));
    return error.message;
  }
  return assert.fail(`was accepted: ${JSON.stringify(user)}`);
}

async function recording(t: TestContext): Promise<RecordingServer> {
  const server = await startRecordingServer();
  t.after(() => server.close());
  return server;
}

async function accessesOf(server: RecordingServer, user: object): Promise<Record<string, Access>> {
  const load = (way: Access): Promise<Access> => loadAccess(kubeconfigOf(way, user));
  return {
    access: await load(server.access),
    proxied: await load(server.proxied),
    exec: await load(server.exec),
  };
}

function allSay({ requests }: RecordingServer, lines: readonly (readonly string[])[]): void {
  for (const { method, path, impersonation } of requests) {
    const sorted = impersonation.map((line) => [...line]).toSorted((a, b) => (a.join() < b.join() ? -1 : 1));
    assert.deepEqual(sorted, lines, `${method} ${path}`);
  }
}
