import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, after, before, describe, test } from 'node:test';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import {
  buildExecutable,
  executableIsMissing,
  runExecutable,
  type BuiltExecutable,
} from '../testing/executable.ts';
import { managedConflistName } from './conflist.ts';

const namespacesAreMissing =
  spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'needs root, for a mount namespace of its own';

describe('the installer as a process', { skip: executableIsMissing }, () => {
  let built: BuiltExecutable;
  before(async () => {
    built = await buildExecutable();
  });
  after(() => built.remove());

  const previous = JSON.stringify({
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [{ type: 'bridge', ipam: { type: 'host-local', subnet: '10.88.0.0/16' } }],
  });

  interface Node {
    readonly root: string;
    readonly args: (command: string) => string[];
    readonly present: () => Promise<string[]>;
  }

  async function node(context: TestContext): Promise<Node> {
    const root = await mkdtemp(join(tmpdir(), 'static-ip-node-'));
    context.after(() => rm(root, { recursive: true, force: true }));
    const [conflists, bin] = [join(root, 'net.d'), join(root, 'bin')];
    await mkdir(conflists);
    await mkdir(bin);
    await writeFile(join(conflists, '10-pods.conflist'), previous);
    return {
      root,
      args: (command) => [command, '--conflist-directory', conflists, '--bin-directory', bin],
      present: async () => [...(await readdir(bin)), ...(await readdir(conflists))].toSorted(),
    };
  }

  const installedMessage = '00-0-static-ip.conflist puts static-ip in front of 10-pods.conflist';

  async function untilLogged(child: ChildProcess, text: string): Promise<void> {
    let output = '';
    for await (const chunk of child.stdout ?? []) {
      output += String(chunk);
      if (output.includes(text)) return;
    }
    assert.fail(`ended after: ${output}`);
  }

  /** Leaves behind what a killed installer leaves. */
  async function installed(args: Node['args']): Promise<void> {
    const child = spawn(built.path, args('install'), { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    await untilLogged(child, installedMessage);
    child.kill('SIGKILL');
    await ended;
  }

  test('uninstall --stay restores the original network and waits for SIGTERM', async (context) => {
    const { args, present } = await node(context);
    await installed(args);
    const child = spawn(built.path, [...args('uninstall'), '--stay'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    await untilLogged(child, 'the original network is restored');
    assert.deepEqual(await present(), ['10-pods.conflist']);
    assert.equal(child.exitCode, null);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  test('an installer that is killed at any moment leaves a working network, and the next one installs', async (context) => {
    const { root, args, present } = await node(context);
    for (let delay = 0; delay < 200; delay += 15) {
      const child = spawn(built.path, args('install'), { stdio: 'ignore' });
      const ended = once(child, 'close');
      await new Promise((resolve) => setTimeout(resolve, delay));
      child.kill('SIGKILL');
      await ended;
      const names = await present();
      assert.equal(await readFile(join(root, 'net.d', '10-pods.conflist'), 'utf8'), previous);
      if (!names.includes(managedConflistName)) continue;
      JSON.parse(await readFile(join(root, 'net.d', managedConflistName), 'utf8'));
      const version = await runExecutable(join(root, 'bin', 'static-ip'), {
        environment: { CNI_COMMAND: 'VERSION' },
      });
      assert.equal(version.code, 0);
      // never remove only the executable: the test would blame the next kill for a configuration that names a
      // missing plugin
      await rm(join(root, 'net.d', managedConflistName));
      if (delay % 30 !== 0) await rm(join(root, 'bin', 'static-ip'));
    }
    const child = spawn(built.path, args('install'), { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    await untilLogged(child, installedMessage);
    assert.deepEqual(await present(), [managedConflistName, '10-pods.conflist', 'static-ip']);
    assert.equal((await runExecutable(built.path, { args: args('installed') })).code, 0);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(await present(), [managedConflistName, '10-pods.conflist', 'static-ip']);
    assert.equal((await runExecutable(built.path, { args: args('uninstall') })).code, 0);
    assert.deepEqual(await present(), ['10-pods.conflist']);
    assert.equal((await runExecutable(built.path, { args: args('installed') })).code, 1);
  });

  test('a wrong option is reported in one line', async (context) => {
    const { root } = await node(context);
    const wrong: readonly (readonly [string[], RegExp])[] = [
      [['instal'], /there is no command 'instal'/u],
      [['install', '--conflist', '../x'], /is a path/u],
      [['install', '--frobnicate'], /frobnicate/u],
      [['uninstall', '--daemon-set', 'x'], /is only for install/u],
      [['guard'], /guard needs --daemon-set/u],
      [['install', '--stay'], /is only for uninstall/u],
      [['uninstall', '--conflist-directory', join(root, 'none')], /ENOENT.*none/u],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr, stdout } = await runExecutable(built.path, { args });
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, message);
      assert.match(stderr, /^[^\n]+\n$/u);
    }
    assert.match((await runExecutable(built.path, { args: ['help'] })).stdout, /^Usage: static-ip COMMAND/u);
  });

  describe('in a pod', { skip: namespacesAreMissing }, () => {
    /**
     * Starts an API that reports whether the DaemonSet exists, and creates a service account that may read
     * it.
     */
    async function cluster(context: TestContext, root: string): Promise<{ url: URL; removed: () => void }> {
      const authority = await createTestAuthority();
      const { certificate, key } = await authority.server({ ip: '127.0.0.1' });
      let code = 200;
      const storedMetadata = {
        ...{ name: 'static-ip', namespace: 'kube-system' },
        ...{ uid: 'uid-of-daemon-set', resourceVersion: '1' },
      };
      const server = createServer({ cert: certificate, key }, (request, response) => {
        const allowed = request.headers.authorization === 'Bearer the-token';
        response
          .writeHead(allowed ? code : 401, { 'content-type': 'application/json' })
          .end(JSON.stringify({ kind: 'DaemonSet', metadata: storedMetadata }));
      });
      // only the installer may end the connection
      server.keepAliveTimeout = 0;
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      context.after(() => {
        server.closeAllConnections();
        server.close();
      });
      const account = join(root, 'account');
      await mkdir(account);
      await writeFile(join(account, 'ca.crt'), authority.ca);
      await writeFile(join(account, 'token'), 'the-token');
      await writeFile(join(account, 'namespace'), 'kube-system');
      const { port } = server.address() as AddressInfo;
      return { url: new URL(`https://127.0.0.1:${port}`), removed: () => (code = 404) };
    }

    /** Creates the mounts of a pod: its service account at the usual path. */
    const script =
      'mount -t tmpfs tmpfs "$(readlink -f /var/run)" && mkdir -p /var/run/secrets/kubernetes.io && ' +
      'ln -s "$1" /var/run/secrets/kubernetes.io/serviceaccount && shift && exec "$@"';

    for (const [command, removal] of [
      ['install', true],
      ['install', false],
      ['guard', true],
      ['guard', false],
    ] as const) {
      test(`${command}: ${removal ? 'a removed DaemonSet restores the original network' : 'an updated one leaves the plugin'}, and the process ends at once`, async (context) => {
        const { root, args, present } = await node(context);
        const { url, removed } = await cluster(context, root);
        if (command === 'guard') await installed(args);
        const whole = [built.path, ...args(command), '--daemon-set', 'static-ip'];
        const child = spawn(
          'unshare',
          ['--mount', 'sh', '-c', script, 'sh', join(root, 'account'), ...whole],
          {
            env: {
              PATH: process.env['PATH'],
              KUBERNETES_SERVICE_HOST: url.hostname,
              KUBERNETES_SERVICE_PORT: url.port,
            },
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        );
        // a process that the end of the grace period kills would not exit with 0
        const ended = once(child, 'close', { signal: AbortSignal.timeout(120_000) });
        await untilLogged(
          child,
          command === 'guard' ? 'waiting until the DaemonSet is deleted' : installedMessage,
        );
        if (removal) removed();
        child.kill('SIGTERM');
        assert.deepEqual(await ended, [0, null]);
        assert.deepEqual(
          await present(),
          removal
            ? ['10-pods.conflist']
            : ['.static-ip-allowed', managedConflistName, '10-pods.conflist', 'static-ip'],
        );
        assert.ok(existsSync(join(root, 'account')));
      });
    }
  });
});
