import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '../../agent/testing/eventually.ts';
import { TestVm } from '../../agent/testing/test-vm.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { writeDirectorFile } from '../../director/director-directory.ts';
import { startTunnel } from '../../tunnel/start-tunnel.ts';

// Runs with its own accounts and network (own-accounts.sh): our agent, and an sshd on port 22 of that
// loopback interface.
const [sshd = ''] = process.argv.slice(2);
const directory = await mkdtemp(join(tmpdir(), 'ssh-commands-'));
const home = join(directory, 'home');
const manifest = join(directory, 'manifest.yml');
const vm = await TestVm.create();
await vm.start();
const indented = vm.ca.trim().replaceAll('\n', '\n      ');
await writeFile(
  manifest,
  `name: hello
releases: [{name: cpi, url: file://cpi.tgz}]
resource_pools: [{name: vms, network: default, stemcell: {url: file://s.tgz}, env: {bosh: {}}}]
networks: [{name: default, type: dynamic}]
instance_groups:
- {name: vm, instances: 1, jobs: [], resource_pool: vms, networks: [{name: default}]}
cloud_provider:
  template: {name: cpi, release: cpi}
  mbus: ${vm.mbusUrl}
  cert:
    ca: |
      ${indented}
  properties: {}
`,
);
const state = { ...emptyState, installation_id: 'one', director_id: 'two', current_vm_cid: 'vm-agent-1' };
const statePath = join(directory, 'manifest-state.json');
await writeFile(statePath, JSON.stringify({ ...state, current_agent_id: 'agent-1' }));
await mkdir('/run/sshd', { recursive: true });
await writeFile(
  '/etc/pam.d/sshd',
  ['auth', 'account', 'session'].map((one) => `${one} required pam_permit.so\n`).join(''),
);
const daemon = spawn(
  sshd,
  [
    ...['-D', '-e', '-f', '/dev/null', '-h', '/etc/ssh/ssh_host_rsa_key'],
    ...['ListenAddress=127.0.0.1', 'UsePAM=yes', 'AllowGroups=bosh_sshers', 'PidFile=none']
      .concat('Subsystem=sftp internal-sftp')
      .flatMap((option) => ['-o', option]),
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
);
let heard = '';
daemon.stderr?.on('data', (chunk: Buffer) => (heard += chunk.toString()));

const main = join(import.meta.dirname, '..', 'main.ts');
const environment = { ...process.env, BOSH_KUBERNETES_HOME: home, BOSH_ALL_PROXY: '' };
const start = (...args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [main, ...args], {
    env: environment,
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
async function run(...args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = start(...args);
  const { stdout, stderr } = child;
  const [[code], out, err] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    stdout === null ? '' : text(stdout),
    stderr === null ? '' : text(stderr),
  ]);
  return { code, out, err };
}
const passwd = (): Promise<string> => readFile('/etc/passwd', 'utf8');
const before = await passwd();
const isClean = async (): Promise<void> => {
  assert.equal(await passwd(), before);
  assert.deepEqual(await readdir(join(home, 'workspace/ssh')), []);
  assert.deepEqual(await readdir(vm.directories.temporary), []);
};
/** Starts a session and returns its process and account once the account exists. */
async function lasting(): Promise<{ child: ChildProcess; user: string; ssh: number }> {
  const child = start('ssh', manifest, '--', 'echo in; exec sleep 1000');
  const { stdout } = child;
  if (stdout !== null) await once(stdout, 'data');
  const user = /^bosh_[0-9a-f]{15}/mu.exec(await passwd())?.[0] ?? '';
  const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return { child, user, ssh: Number(children.trim()) };
}

try {
  await eventually(
    'sshd',
    () =>
      new Promise<true | undefined>((resolve) => {
        const socket = connect(22, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        });
        socket.on('error', () => resolve(undefined));
      }),
  );

  const login = await run('ssh', manifest, '--', 'id', '-un;', 'exit', '7');
  assert.deepEqual([login.code, login.err], [7, ''], heard);
  assert.match(login.out, /^bosh_[0-9a-f]{15}\n$/);
  await isClean();

  await writeFile(join(directory, 'up'), 'content');
  assert.deepEqual(await run('scp', manifest, 'up', 'vm:/tmp/ssh-scenario'), { code: 0, out: '', err: '' });
  assert.deepEqual(await run('scp', manifest, 'vm:/tmp/ssh-scenario', 'down'), { code: 0, out: '', err: '' });
  assert.equal(await readFile(join(directory, 'down'), 'utf8'), 'content');
  await isClean();

  await mkdir(join(vm.directories.log, 'web'));
  await writeFile(join(vm.directories.log, 'web/web.log'), 'served');
  const logs = await run('logs', manifest, '--dir', directory, '--job', 'web');
  assert.deepEqual([logs.code, logs.err], [0, '']);
  const archive = /^Logs: '(.*hello-logs-\d{8}T\d{6}\.tgz)'\n$/u.exec(logs.out)?.[1] ?? '';
  const listed = spawn('tar', ['-xzOf', archive, 'web/web.log'], { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.equal(await text(listed.stdout), 'served');
  await isClean();

  // Output of a VM outside of the data has no effect on the terminal.
  await writeFile('/etc/ssh/sshrc', String.raw`printf 'hostile\033[2J\nline\n' >&2`);
  for (const args of [
    ['scp', manifest, '--opts=-O', 'vm:/tmp/ssh-scenario', 'down'],
    ['logs', manifest, '--opts=-O', '--dir', directory],
    ['logs', manifest, '--num', '1'],
  ]) {
    const { err } = await run(...args);
    assert.match(err, /^hostile\\u001b\[2J\nline\n/, args.join(' '));
  }
  await rm('/etc/ssh/sshrc');
  await isClean();

  // The agent reports another host key than sshd has. Then no login is possible, whatever options the
  // operator gives.
  const good = await readFile('/etc/ssh/ssh_host_rsa_key.pub');
  await writeFile(
    '/etc/ssh/ssh_host_rsa_key.pub',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDk0bWYzZm9ydGVzdHNvbmx5bm90YXJlYWxrZXkw',
  );
  const impostor = await run('ssh', manifest, '--opts=-oStrictHostKeyChecking=no', '--', 'true');
  assert.equal(impostor.code, 255);
  assert.match(impostor.err, /Host key verification failed|no matching host key type/i);
  await writeFile('/etc/ssh/ssh_host_rsa_key.pub', good);
  await isClean();

  // After a signal the account is removed.
  const ended = await lasting();
  ended.child.kill('SIGTERM');
  await once(ended.child, 'close');
  await isClean();

  // After a kill the next command removes the account.
  const killed = await lasting();
  killed.child.kill('SIGKILL');
  process.kill(killed.ssh);
  await once(killed.child, 'close');
  assert.ok((await passwd()).includes(killed.user));
  // A running session keeps its account.
  const living = await lasting();
  assert.equal((await run('ssh', manifest, '--', 'true')).code, 0);
  const now = await passwd();
  assert.ok(!now.includes(killed.user) && now.includes(living.user), now);
  living.child.kill('SIGINT');
  await once(living.child, 'close');
  await isClean();

  // A director's directory, reached through the proxy of BOSH_ALL_PROXY. The agent is on its usual port
  // there.
  const requests: string[] = [];
  const proxy = await startTunnel({
    port: 0,
    connect: async ({ host, port }) => {
      requests.push(`${host}:${port}`);
      const socket = connect(port === 6868 ? Number(new URL(vm.mbusUrl).port) : port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    ...{ clientOwner: undefined, uid: undefined, log: () => undefined },
  });
  const directorDirectory = join(directory, 'director');
  await mkdir(directorDirectory, { mode: 0o700 });
  await writeDirectorFile(directorDirectory, {
    cluster: { server: 'https://192.0.2.1:6443', kubeconfig: '/nonexistent' },
    ...{ way: 'tunnel', namespaces: ['bosh'], networks: [], address: '127.0.0.1', written: {} },
  });
  await writeFile(join(directorDirectory, 'state.json'), await readFile(statePath));
  const creds = { mbus_bootstrap_password: vm.password, mbus_bootstrap_ssl: { ca: vm.ca } };
  await writeFile(join(directorDirectory, 'creds.yml'), JSON.stringify(creds), { mode: 0o600 });
  environment.BOSH_ALL_PROXY = `socks5://127.0.0.1:${proxy.port}`;
  const proxied = await run('ssh', directorDirectory, '--', 'echo', 'through');
  assert.deepEqual(proxied, { code: 0, out: 'through\n', err: '' });
  assert.deepEqual([...new Set(requests)].toSorted(), ['127.0.0.1:22', '127.0.0.1:6868']);
  const flags = await run('ssh', directorDirectory, '-v', 'a=b');
  assert.match(flags.err, /flags for a manifest cannot be used with it/);
  environment.BOSH_ALL_PROXY = '';
  await proxy.close();
  await isClean();

  await writeFile(statePath, JSON.stringify({ ...state, current_agent_id: 'agent-2' }));
  const other = await run('ssh', manifest, '--', 'true');
  assert.deepEqual([other.code, other.out], [1, '']);
  assert.match(other.err, /another VM's agent answers, 'agent-1'/);
  process.stdout.write('every step passed\n');
} finally {
  daemon.kill();
  await vm.remove();
  await rm(directory, { recursive: true, force: true });
}
