import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { credentialsOf } from './access.ts';
import { inClusterAccess } from './server-access.ts';
import { resolveAccess, loadAccess } from './kubeconfig-access.ts';
import { parseKubeconfig } from './kubeconfig.ts';

const pem = (text: string): string => `-----BEGIN ${text}-----\nMAA=\n-----END ${text}-----\n`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/s3cret' };

function kubeconfig(cluster: object = {}, user: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [
      { name: 'main', context: { cluster: 'one', user: 'admin', namespace: 'bosh' } },
      { name: 'other', context: { cluster: 'one', user: 'admin' } },
    ],
    clusters: [
      {
        name: 'one',
        cluster: {
          server: 'https://k8s.example:6443/proxy/',
          'certificate-authority-data': base64(pem('CERTIFICATE')),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'admin', user: { token: 's3cret-token', ...user } }],
  };
}

async function refusal(source: unknown): Promise<string> {
  try {
    await resolveAccess(parseKubeconfig(source));
  } catch (error) {
    assert.ok(isProductError(error, 'INVALID_CONFIG'), String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

test('the current context is resolved', async () => {
  const expected = {
    server: 'https://k8s.example:6443/proxy',
    ca: pem('CERTIFICATE'),
    token: 's3cret-token',
    namespace: 'bosh',
  };

  assert.deepEqual(await loadAccess(kubeconfig()), expected);
  assert.deepEqual(await loadAccess(JSON.stringify(kubeconfig())), expected);
  assert.equal((await loadAccess(kubeconfig(), { context: 'other' })).namespace, 'default');
  assert.equal((await loadAccess(kubeconfig(), { namespace: 'mine' })).namespace, 'mine');
});

test('YAML text is read, and its errors quote no content', async () => {
  const yaml = [
    'current-context: main',
    'contexts: [{name: main, context: {cluster: one, user: admin}}]',
    'clusters: [{name: one, cluster: {server: "https://h:1"}}]',
    'users: [{name: admin, user: {token: abc}}]',
  ];

  assert.deepEqual(await loadAccess(yaml.join('\n')), {
    server: 'https://h:1',
    token: 'abc',
    namespace: 'default',
  });
  await assert.rejects(loadAccess([...yaml, 'token: "s3cret'].join('\n')), (error) => {
    assert.ok(isProductError(error, 'INVALID_CONFIG'));
    assert.match(error.message, /not YAML, line \d+/u);
    assert.doesNotMatch(error.message, /s3cret/u);
    return true;
  });
});

test('client certificates come from data or from files beside the kubeconfig', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'client.crt'), pem('CERTIFICATE'));
  const source = kubeconfig(
    {},
    { token: null, 'client-certificate': 'client.crt', 'client-key-data': base64(pem('PRIVATE KEY')) },
  );

  const access = await resolveAccess(parseKubeconfig(source), { directory });

  assert.equal(access.certificate, pem('CERTIFICATE'));
  assert.equal(access.key, pem('PRIVATE KEY'));
  assert.match(await refusal(source), /users\[0\]\.user\.client-certificate must be an absolute path/u);
});

test('a token file is read for each request', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const access = await resolveAccess(parseKubeconfig(kubeconfig({}, { tokenFile: 'token' })), { directory });

  writeFileSync(join(directory, 'token'), 'first\n');
  assert.equal((await credentialsOf(access)).token, 'first');
  writeFileSync(join(directory, 'token'), 'second\n');
  assert.equal((await credentialsOf(access)).token, 'second');
});

test('in a pod the service account speaks', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'service-account-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'ca.crt'), pem('CERTIFICATE'));
  writeFileSync(join(directory, 'namespace'), 'bosh\n');
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };

  assert.deepEqual(inClusterAccess({ environment, directory }), {
    server: 'https://[fd00::1]:443',
    ca: pem('CERTIFICATE'),
    tokenFile: join(directory, 'token'),
    namespace: 'bosh',
  });
  const apiServerFile = join(directory, 'api-server');
  const unnamed = { environment: {}, directory, apiServerFile };
  assert.equal(inClusterAccess(unnamed).server, 'https://kubernetes.default.svc');
  writeFileSync(apiServerFile, '10.96.0.1\n443\n');
  assert.equal(inClusterAccess(unnamed).server, 'https://10.96.0.1:443');
  assert.equal(inClusterAccess({ environment, directory, server: 'https://api' }).server, 'https://api');
  assert.throws(
    () => inClusterAccess({ environment, directory: join(directory, 'none') }),
    (error) => isProductError(error, 'INVALID_CONFIG') && /give a kubeconfig/u.test(error.message),
  );
});

test('what is wrong is named by its key and never by its value', async () => {
  const cases: [object, RegExp][] = [
    [
      kubeconfig({ 'insecure-skip-tls-verify': true }),
      /clusters\[0\]\.cluster\.insecure-skip-tls-verify .*verified/u,
    ],
    [
      kubeconfig({ 'proxy-url': 'socks5://u:s3cret@p' }),
      /clusters\[0\]\.cluster\.proxy-url .*http or https/u,
    ],
    [kubeconfig({ 'proxy-url': 's3cret' }), /clusters\[0\]\.cluster\.proxy-url .*not a URL/u],
    [
      kubeconfig({ server: 'http://s3cret' }),
      /clusters\[0\]\.cluster\.server must be an https URL: .*kubectl proxy/u,
    ],
    [kubeconfig({ server: 's3cret' }), /clusters\[0\]\.cluster\.server is not a URL/u],
    [kubeconfig({ server: 'https://u:s3cret@host' }), /host, port and path only/u],
    [kubeconfig({ server: '' }), /clusters\[0\]\.cluster\.server is missing/u],
    [kubeconfig({ 'certificate-authority-data': 's3cret!' }), /certificate-authority-data is not base64/u],
    [
      kubeconfig({ 'certificate-authority-data': base64('s3cret') }),
      /certificate-authority-data does not hold PEM/u,
    ],
    [kubeconfig({ 'certificate-authority-data': '', 'certificate-authority': '/none/s3cret' }), /ENOENT/u],
    [kubeconfig({}, { username: 'me', password: 's3cret' }), /users\[0\]\.user\.username is not supported/u],
    [
      kubeconfig({}, { 'auth-provider': { name: 'oidc' } }),
      /auth-provider is not supported: .*does not speak 'oidc'; use a plugin by 'exec'/u,
    ],
    [kubeconfig({}, { exec: { command: 's3cret' } }), /users\[0\]\.user has both exec and token/u],
    ...([
      [{ ...plugin, apiVersion: 's3cret' }, /users\[0\]\.user\.exec\.apiVersion must be/u],
      [{ ...plugin, command: '' }, /exec\.command is missing/u],
      [{ ...plugin, command: './s3cret' }, /exec\.command must be an absolute path/u],
      [{ ...plugin, args: ['--x', 7] }, /exec\.args\[1\] must be a string/u],
      [{ ...plugin, env: [{ name: 'A', value: 's3cret' }, 'B=s3cret'] }, /exec\.env\[1\] must be an object/u],
      [{ ...plugin, interactiveMode: 'Always' }, /exec\.interactiveMode/u],
      ['s3cret', /exec must be an object/u],
    ].map(([exec, message]) => [kubeconfig({}, { token: null, exec }), message]) as [object, RegExp][]),
    [kubeconfig({}, { token: 5 }), /users\[0\]\.user\.token must be a string/u],
    [kubeconfig({}, { token: '' }), /users\[0\]\.user has no token/u],
    [
      kubeconfig({}, { 'client-certificate-data': base64(pem('CERTIFICATE')) }),
      /only one of client-certificate and client-key/u,
    ],
    [
      { ...kubeconfig(), 'current-context': 'gone' },
      /current-context names "gone", which is not in contexts/u,
    ],
    [{ ...kubeconfig(), 'current-context': undefined }, /current-context is missing/u],
    [{ ...kubeconfig(), users: 's3cret' }, /users must be a list/u],
    [{ ...kubeconfig(), users: [{ user: {} }] }, /users\[0\]\.name is missing/u],
  ];

  for (const [source, expected] of cases) {
    const message = await refusal(source);
    assert.match(message, expected);
    assert.doesNotMatch(message, /s3cret/u);
  }
  assert.match(await refusal('{"token": s3cret'), /not JSON/u);
  assert.match(await refusal('"/home/me/.kube/s3cret"'), /name of a file.*give the content/u);
  await assert.rejects(loadAccess('/home/me/.kube/config'), { message: /give the content of the file/u });
});

test('nothing but INVALID_CONFIG comes out of any JSON value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      assert.ok((await refusal(typeof value === 'string' ? JSON.stringify(value) : value)).length > 0);
    }),
  );
});
