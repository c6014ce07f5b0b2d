import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { socks5Connect } from '../../bosh/agent-client/socks5-connect.ts';
import { writeDirectorFile, type DirectorFile } from '../../director/director-directory.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import { startPortForwardServer } from '../../kubernetes/testing/port-forward-server.ts';
import { identityOfAccess } from '../cluster/kubeconfig.ts';
import { mainModulePath } from '../installation.ts';
import { runningTunnel } from '../tunnel/detached-tunnel.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..', '..'));

/** Creates a directory of `director init` for a cluster whose pod 10.244.0.6 responds on port 25555. */
async function withDirector(t: TestContext, changes: Partial<DirectorFile> = {}) {
  const cluster = await startPortForwardServer();
  t.after(cluster.close);
  const listener = createServer((socket) => socket.end('the director')).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => listener.close());
  cluster.listeners.set('bosh/vm-1:25555', (listener.address() as AddressInfo).port);
  cluster.objects.set('/api/v1/namespaces/bosh/pods', [
    {
      metadata: { name: 'vm-1', namespace: 'bosh', uid: 'uid-1', resourceVersion: '1' },
      ...{ spec: { containers: [] }, status: { phase: 'Running', podIP: '10.244.0.6' } },
    },
  ]);
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-tunnel-'));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(cluster.access), { mode: 0o600 });
  await writeDirectorFile(directory, {
    cluster: identityOfAccess(cluster.access, kubeconfig),
    ...{
      way: 'tunnel',
      namespaces: ['bosh'],
      networks: ['10.244.0.0/16'],
      address: '10.244.0.6',
      written: {},
    },
    ...changes,
  });
  const run = (...args: string[]) => runWith({}, ...args);
  const runWith = async (variables: Readonly<Record<string, string>>, ...args: string[]) => {
    const environment = { ...process.env, ...variables, BOSH_KUBERNETES_HOME: join(directory, 'home') };
    const child = spawn(process.execPath, [main, ...args], { cwd: directory, env: environment });
    const [out, error, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    return { out, error, code: Number(code) };
  };
  t.after(async () => {
    const leftover = await runningTunnel(directory);
    if (leftover !== undefined) process.kill(leftover.pid, 'SIGKILL');
    await rm(directory, { recursive: true });
  });
  return { cluster, directory, kubeconfig, run, runWith };
}

const base64 = (value: string | undefined): string => Buffer.from(value ?? '').toString('base64');

const kubeconfigOf = ({ server, ca, certificate, key }: Access): string =>
  JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
    clusters: [{ name: 'one', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [
      {
        name: 'one',
        user: {
          'client-certificate-data': base64(certificate),
          'client-key-data': base64(key),
        },
      },
    ],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
  });

const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const creds = JSON.stringify({
  admin_password: `it's $(a) "secret"`,
  director_ssl: { ca: certificate },
  credhub_admin_client_secret: 'other',
  credhub_tls: { ca: certificate },
  uaa_ssl: { ca: certificate },
});

const throughPort = async (port: number): Promise<string> =>
  text(await socks5Connect({ host: '127.0.0.1', port }, { host: '10.244.0.6', port: 25555 }));

test('a command runs with the proxy in its environment, and the tunnel returns its exit code', async (t) => {
  const { run } = await withDirector(t);
  const script = 'echo $BOSH_ALL_PROXY $CREDHUB_PROXY; exit 7';
  const { out, code, error } = await run('tunnel', '--', 'sh', '-c', script);
  assert.equal(code, 7, error);
  assert.match(out, /^(socks5:\/\/127\.0\.0\.1:\d+) \1\n$/u);
  assert.match((await run('tunnel', '--', 'no-such-command')).error, /'no-such-command' cannot be run/);
});

test('--stdio connects to one port, as a ProxyCommand does', async (t) => {
  const { run } = await withDirector(t);
  assert.equal((await run('tunnel', '--stdio', '10.244.0.6', '25555')).out, 'the director');
  const refused = await run('tunnel', '--stdio', '10.244.0.9', '22');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.error, /No running pod/);
});

test('a tunnel refuses an unsupported request before the command runs', async (t) => {
  const { run, directory, kubeconfig } = await withDirector(t);
  const outcome = async (...args: string[]) => {
    const { error, code, out } = await run('tunnel', ...args, '--', 'echo', 'ran');
    assert.deepEqual([code, out], [1, ''], args.join(' '));
    return error;
  };
  assert.match(await outcome('--network', '10.244.0.0'), /is not a valid network/);
  assert.match(await outcome('--map', 'x'), /--map 'x' cannot be read/);
  assert.match(await outcome('--directory', join(directory, 'none')), /director\.json/);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  assert.match(
    await outcome('--port', String((taken.address() as AddressInfo).port)),
    /another process listens/,
  );
  const other = await withDirector(t);
  assert.match(await outcome('--kubeconfig', other.kubeconfig), /OTHER_CLUSTER/);
  await rm(kubeconfig);
  assert.match(await outcome(), /Kubeconfig/);
});

test('print-env starts one tunnel in the background and prints an environment that a shell can evaluate', async (t) => {
  const { run, directory } = await withDirector(t);
  assert.match((await run('director', 'print-env', directory)).error, /creds\.yml.*commands\.sh/);
  await writeFile(join(directory, 'creds.yml'), creds, { mode: 0o600 });
  const [one, other] = await Promise.all([
    run('director', 'print-env', directory),
    run('director', 'print-env', directory),
  ]);
  assert.deepEqual([one.code, one.error, one.out], [0, '', other.out]);
  const shell = spawn('sh', ['-c', 'eval "$1"; env -0', 'sh', one.out]);
  const set = Object.fromEntries(
    (await text(shell.stdout))
      .split('\0')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  assert.equal(set['BOSH_ENVIRONMENT'], 'https://10.244.0.6:25555');
  assert.deepEqual([set['BOSH_CLIENT'], set['BOSH_CLIENT_SECRET']], ['admin', `it's $(a) "secret"`]);
  assert.equal(set['BOSH_CA_CERT'], certificate);
  assert.deepEqual(
    [set['CREDHUB_SERVER'], set['CREDHUB_CLIENT']],
    ['https://10.244.0.6:8844/api', 'credhub-admin'],
  );
  assert.equal(set['CREDHUB_SECRET'], 'other');
  assert.equal(set['CREDHUB_CA_CERT'], certificate + certificate);

  const port = Number(new URL(set['BOSH_ALL_PROXY'] ?? '').port);
  assert.equal(await throughPort(port), 'the director');
  const log = join(directory, 'tunnel.log');
  assert.equal((await stat(log)).mode & 0o777, 0o600);
  assert.match(await readFile(log, 'utf8'), /listens on 127\.0\.0\.1/);

  assert.match((await run('tunnel', 'stop')).out, /has stopped/);
  await assert.rejects(throughPort(port), { code: 'ECONNREFUSED' });
  assert.match((await run('tunnel', 'stop', '--directory', directory)).out, /No tunnel/);
});

test('print-env starts a killed tunnel again, and reports why a tunnel cannot start', async (t) => {
  const { run, directory, kubeconfig } = await withDirector(t);
  await writeFile(join(directory, 'creds.yml'), creds, { mode: 0o600 });
  await run('director', 'print-env');
  const first = await runningTunnel(directory);
  assert.ok(first);
  process.kill(first.pid, 'SIGKILL');
  assert.equal((await run('director', 'print-env')).code, 0);
  const second = await runningTunnel(directory);
  assert.ok(second && second.pid !== first.pid);
  assert.equal(await throughPort(second.port), 'the director');
  await run('tunnel', 'stop');
  await rm(kubeconfig);
  const { code, error, out } = await run('director', 'print-env');
  assert.deepEqual([code, out], [1, '']);
  assert.match(error, /did not start.*tunnel\.log.*Kubeconfig/su);
});

test('print-env unsets an earlier proxy and starts no tunnel if the director needs none', async (t) => {
  const { run, directory } = await withDirector(t, { way: 'direct' });
  await writeFile(
    join(directory, 'creds.yml'),
    JSON.stringify({ admin_password: 'a', director_ssl: { ca: 'b' } }),
  );
  const { out } = await run('director', 'print-env', directory);
  assert.match(out, /^unset BOSH_ALL_PROXY CREDHUB_PROXY CREDHUB_SERVER/u);
  assert.equal(await runningTunnel(directory), undefined);
});

test('create-env refuses an unsupported proxy, and --tunnel without the folder of a director', async (t) => {
  const { runWith, run, directory } = await withDirector(t);
  const proxy = { BOSH_ALL_PROXY: 'ssh+socks5://jumpbox@192.0.2.1:22?private-key=key' };
  for (const command of ['create-env', 'delete-env', 'stop-env', 'start-env']) {
    const { code, error } = await runWith(proxy, command, 'none.yml');
    assert.deepEqual([code, /BOSH_ALL_PROXY is an ssh\+socks5 URL/u.test(error)], [1, true], command);
  }
  assert.match((await run('create-env', 'none.yml', '--tunnel')).error, /no manifest '.*none\.yml'/u);
  await rm(join(directory, 'director.json'));
  assert.match((await run('create-env', 'none.yml', '--tunnel')).error, /--tunnel looks for director\.json/u);
});
