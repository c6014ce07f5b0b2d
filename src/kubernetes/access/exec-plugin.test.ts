import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { type Access, type CredentialSource, issuedCredentials } from './access.ts';
import { resolveAccess } from './kubeconfig-access.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { openTransport } from '../client/open-transport.ts';
import { startTlsServer } from '../testing/tls-server.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const credential = (status: object): string => JSON.stringify({ apiVersion, kind: 'ExecCredential', status });

interface Plugin {
  readonly directory: string;
  readonly access: (exec?: object, now?: () => number) => Promise<Access>;
  /** Returns how often the plugin was run. */
  readonly runs: () => Promise<number>;
}

/** Creates a plugin that is a shell script; each run appends a line to `runs`. */
async function plugin(t: TestContext, script: string): Promise<Plugin> {
  const directory = await mkdtemp(join(tmpdir(), 'exec-plugin-'));
  t.after(() => rm(directory, { recursive: true }));
  const command = join(directory, "the user's plugin");
  await writeFile(command, `#!/bin/sh\necho run >> '${directory}/runs'\n${script}\n`);
  await chmod(command, 0o755);
  return {
    directory,
    access: (exec = {}, now = () => 0) =>
      resolveAccess(
        parseKubeconfig({
          'current-context': 'c',
          contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
          clusters: [{ name: 'c', cluster: { server: 'https://k8s.example:6443' } }],
          users: [{ name: 'u', user: { exec: { apiVersion, command, ...exec } } }],
        }),
        {
          environment: { PATH: process.env['PATH'], FROM: 'us' },
          clock: { now, sleep: () => Promise.resolve() },
        },
      ),
    runs: async () =>
      (await readFile(join(directory, 'runs'), 'utf8').catch(() => '')).split('\n').length - 1,
  };
}

function sourceOf({ credentials }: Access): CredentialSource {
  assert.ok(credentials !== undefined);
  return credentials;
}

test('a plugin is run with its arguments and variables as they are, and told of the cluster', async (t) => {
  const { access } = await plugin(
    t,
    `printf '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"%s|%s|%s|%s"}}' ` +
      `"$1" "$2" "$FROM$MORE" "$(echo "$KUBERNETES_EXEC_INFO" | tr -d '"')"`,
  );
  const exec = {
    args: ['a b', '$(id)'],
    env: [{ name: 'MORE', value: ' and $X' }],
    provideClusterInfo: true,
  };
  const { token } = await sourceOf(await access(exec)).current();
  assert.match(
    token ?? '',
    /^a b\|\$\(id\)\|us and \$X\|\{apiVersion:client\.authentication\.k8s\.io\/v1,kind:ExecCredential,/u,
  );
  assert.match(token ?? '', /interactive:false,cluster:\{server:https:\/\/k8s\.example:6443\}/u);
});

test('one run serves all until its credentials expire or are refused', async (t) => {
  const status = { token: 't', expirationTimestamp: '1970-01-01T01:00:00Z' };
  const { access, runs } = await plugin(t, `echo '${credential(status)}'`);
  let now = 0;
  const source = sourceOf(await access({}, () => now));
  assert.equal(await runs(), 0);
  await Promise.all([source.current(), source.current(), source.current()]);
  now = 3_000_000;
  await source.current();
  assert.equal(await runs(), 1);
  now = 3_595_000;
  await source.current();
  assert.equal(await runs(), 2);
  source.refused();
  await source.current();
  assert.equal(await runs(), 3);
});

test('a token that the server refuses is asked for anew, and the request is sent once more', async (t) => {
  const seen: (string | undefined)[] = [];
  const { access: reach, close } = await startTlsServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
  });
  t.after(close);
  const { access, directory } = await plugin(
    t,
    'here=${0%/*}; [ "$(wc -l < "$here/runs")" -eq 1 ] && cat "$here/old" || cat "$here/new"',
  );
  const pair = { clientCertificateData: reach.certificate, clientKeyData: reach.key };
  for (const token of ['old', 'new']) await writeFile(join(directory, token), credential({ ...pair, token }));
  const { certificate: _certificate, key: _key, ...server } = reach;
  const accessed = { ...(await access()), ...server };
  const transport = await openTransport(accessed);
  t.after(() => {
    transport.close();
  });
  assert.equal((await transport.request({ method: 'POST', path: '/', body: '{}' })).status, 200);
  const stream = await transport.stream({ method: 'GET', path: '/' });
  assert.equal(stream.status, 200);
  assert.deepEqual(seen, ['Bearer old', 'Bearer new', 'Bearer new']);
  // both must be redacted from messages
  const used = await issuedCredentials(accessed);
  assert.deepEqual(
    used.map(({ token }) => token),
    ['old', 'new'],
  );
});

test('a plugin that fails says why, and what it printed is not quoted', async (t) => {
  const cases: [string, object, RegExp][] = [
    [
      'echo "log in first" >&2; exit 3',
      {},
      /exec\.command .* failed with exit code 3; it said: log in first; run it by hand/u,
    ],
    // the redactor looks for whole secrets and would miss a half one
    [`echo 'bad: s3cret${'x'.repeat(200)}' >&2; exit 3`, {}, /exit code 3; it said: bad:; run it by hand/u],
    ['exit 1', { installHint: 'install it' }, /exit code 1; install it$/u],
    [
      '',
      { command: '/nonexistent/plugin' },
      /\(\/nonexistent\/plugin\) is not there; give its absolute path/u,
    ],
    ['echo s3cret', {}, /the output of users\[0\]\.user\.exec\.command is not a JSON object; correct the plugin/u],
    [
      `echo '{"status":{"token":"s3cret"}}'`,
      {},
      /is not an ExecCredential of client\.authentication\.k8s\.io\/v1; correct the plugin/u,
    ],
    [`echo '${credential({})}'`, {}, /neither a token nor a client certificate/u],
    [
      `echo '${credential({ token: 7 })}'`,
      {},
      /status\.token in the output of .* must be a string; correct/u,
    ],
    [`echo '${credential({ clientKeyData: 's3cret' })}'`, {}, /only one of clientCertificateData/u],
    [
      `echo '${credential({ token: 's3cret', expirationTimestamp: 's3cret' })}'`,
      {},
      /is not a time; correct the plugin/u,
    ],
  ];
  for (const [script, exec, message] of cases) {
    const { access } = await plugin(t, script);
    const source = sourceOf(await access(exec));
    await assert.rejects(source.current(), (error) => {
      assert.ok(isProductError(error, 'INVALID_CONFIG'), String(error));
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /s3cret/u);
      return true;
    });
  }
});
