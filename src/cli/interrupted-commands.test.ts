import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { uninterrupted } from './interruption.ts';
import { recordOutput } from './testing/record-output.ts';

const root = join(import.meta.dirname, '..', '..');

/** Writes the kubeconfig of a server that accepts connections and never responds. */
async function silentCluster(t: TestContext) {
  const directory = await scratchDirectory(t);
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    // An interrupted client resets its connection.
    socket.on('error', () => undefined);
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(directory, 'kubeconfig');
  const name = 'silent';
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name, user: { token: 'token' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  return { directory, kubeconfig, server };
}

const again = 'run the same command again';
interface InterruptedCase {
  readonly args?: readonly string[];
  /** Undefined if the interrupt is no error. */
  readonly says: string | undefined;
}

const cases: Readonly<Record<string, InterruptedCase>> = {
  status: { says: `The cluster was not read: interrupted by SIGINT; ${again}` },
  'status --watch': { says: undefined },
  tunnel: { says: `The tunnel was not opened: interrupted by SIGINT; ${again}` },
  orphans: { says: `The cluster was not read: interrupted by SIGINT; the same command lists what is left` },
  doctor: {
    says: `The cluster was not examined, and nothing was changed: interrupted by SIGINT; ${again}`,
  },
  'director init': {
    args: ['--for', 'kind', '--stemcell', 'stemcell.tgz', 'my-director'],
    says: `The cluster was not examined, and nothing was written: interrupted by SIGINT; ${again}`,
  },
  'state restore': {
    args: [
      ...['manifest.yml', '--vars-store', 'creds.yml', '-v', 'kubelet_root_dir=/k'],
      ...['-v', `installation=${root}`, '-v', 'kubeconfig=none'],
    ],
    says: `No state file was written: interrupted by SIGINT; ${again}`,
  },
};

for (const [command, { args = [], says }] of Object.entries(cases))
  test(
    `Ctrl-C ends ${command} during a request, and an error says what is left`,
    { timeout: 60_000 },
    async (t) => {
      const { directory, kubeconfig, server } = await silentCluster(t);
      await copyFile(join(root, 'examples', 'hello', 'manifest.yml'), join(directory, 'manifest.yml'));
      const words = [...command.split(' '), '--kubeconfig', kubeconfig, ...args];
      const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...words], {
        cwd: directory,
        env: { PATH: process.env['PATH'], HOME: directory, BOSH_KUBERNETES_HOME: join(directory, 'home') },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.after(() => child.kill('SIGKILL'));
      const output = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
      const ended = once(child, 'close');
      await Promise.race([once(server, 'connection'), ended]);
      child.kill('SIGINT');
      const [code] = (await ended) as [number | null];
      assert.deepEqual([code, output.stdout], [says === undefined ? 0 : 1, ''], output.stderr);
      assert.equal(output.stderr, says === undefined ? '' : `${says} [INTERRUPTED]\n`);
    },
  );

test('work that an interrupt does not end says so once, and how to go on', async () => {
  const interrupt = new AbortController();
  const { context, errors } = recordOutput();
  const outcome = { work: 'The cluster is stopped', next: 'the same command continues' };
  const action = async (): Promise<string> => {
    interrupt.abort(new Error('interrupted by SIGINT'));
    return 'stopped';
  };
  assert.equal(await uninterrupted(action, { ...context, signal: interrupt.signal }, outcome), 'stopped');
  assert.deepEqual(errors, [
    'The cluster is stopped. A second Ctrl-C ends this command at once; then the same command continues',
  ]);
});
