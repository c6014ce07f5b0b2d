import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSimulatedCluster } from '../../../embedded-cluster/testing/simulated-cluster.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { testEnvironment } from '../../deploy/testing/test-environment.ts';

const main = join(import.meta.dirname, '..', 'main.ts');
const needsScript = spawnSync('script', ['--version']).status !== 0 && 'needs script(1) of util-linux';

/** The length of the longest line with bytes, without what follows it. */
const widestLive = (output: string): number =>
  Math.max(0, ...[...output.matchAll(/ {2}Do[^\r\n^]*, 1\.0 of 3\.0 MiB/gu)].map(([line]) => line.length));

/** Runs a command line of a shell on a pseudo terminal, which `MAIN` also uses. */
function spawnOnTerminal(command: string, environment: Readonly<Record<string, string | undefined>>) {
  return spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    env: { ...environment, ...{ SHELL: '/bin/sh', NODE: process.execPath, MAIN: main } },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

test(
  'a download shows time and bytes on a terminal of 40 columns, and 50 after a resize, and Ctrl-C says how to go on',
  { skip: needsScript },
  async (t) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-length': 3 * 1024 * 1024 });
      response.write(Buffer.alloc(1024 * 1024));
    });
    t.after(() => server.closeAllConnections());
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const env = await testEnvironment(t);
    await env.editManifest((text) =>
      text.replace('url: file://tinyapp.tgz', `url: http://127.0.0.1:${port}/a.tgz, sha1: ${'a'.repeat(40)}`),
    );
    const { manifestPath, statePath, varsStorePath = '' } = env.options;
    const command = `tty; stty cols 40; exec "$NODE" "$MAIN" create-env "$MANIFEST" --state "$STATE" --vars-store "$VARS"`;
    const child = spawnOnTerminal(command, {
      ...env.ports.environment,
      ...{ TERM: 'xterm', BOSH_KUBERNETES_HOME: join(env.directory, 'home') },
      ...{ MANIFEST: manifestPath, STATE: statePath, VARS: varsStorePath },
    });
    let output = '';
    let isWide = false;
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part;
      const [, tty = '', shown = ''] = /^(\S+)\r\n([^]*)/u.exec(output) ?? [];
      if (!isWide && widestLive(shown) > 0) {
        isWide = true;
        execFileSync('stty', ['-F', tty, 'cols', '50']);
      } else if (widestLive(shown) >= 40 && !shown.includes('^C')) child.stdin.write('\u0003');
    });
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 1, output);
    const lines = output.split('\r\u001b[2K');
    assert.equal(widestLive(output), 49, output);
    const live = lines.find((line) => line.includes(' of 3.0 MiB')) ?? assert.fail(output);
    assert.match(live, /^ {2}Do.*… 00:00:\d\d, 1\.0 of 3\.0 MiB/u);
    assert.ok((live.split(/[\r\n^]/u)[0] ?? '').length < 40, live);
    assert.match(output, /Downloading release '[^']+'\.\.\. Failed \(00:00:\d\d\)\r\n/u);
    assert.match(output, /interrupted/u);
    assert.match(output, /\[INTERRUPTED\]/u);
  },
);

test(
  'a terminal shows the results of doctor in colour, unless NO_COLOR or TERM=dumb forbid it',
  { skip: needsScript },
  async (t) => {
    const directory = await scratchDirectory(t);
    const cluster = await startSimulatedCluster({ nodes: [{ name: 'node-1' }] });
    t.after(() => cluster.stop());
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    const show = async (environment: Readonly<Record<string, string>>): Promise<string> => {
      const child = spawnOnTerminal(
        'stty cols 200; exec "$NODE" "$MAIN" doctor --kubeconfig "$KUBE" --namespace none',
        {
          ...{ PATH: process.env['PATH'], HOME: directory, KUBE: kubeconfig, TERM: 'xterm' },
          ...{ BOSH_KUBERNETES_HOME: join(directory, 'home'), ...environment },
        },
      );
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
      await once(child, 'close');
      return output.replaceAll('\u001b', 'ESC');
    };
    const [coloured, plain, dumb] = await Promise.all([
      show({}),
      show({ NO_COLOR: '1' }),
      show({ TERM: 'dumb' }),
    ]);
    assert.match(coloured, /^cluster +Kubernetes +ESC\[32mokESC\[0m/mu);
    assert.match(coloured, /^none +Pod Security +ESC\[33mwarningESC\[0m/mu);
    assert.match(coloured, /ESC\[2KExamining the cluster\.\.\./u);
    assert.match(plain, /^cluster +Kubernetes +ok /mu);
    assert.match(plain, /ESC\[2KExamining the cluster\.\.\./u);
    assert.doesNotMatch(plain, /ESC\[\d+m/u);
    assert.match(dumb, /^cluster +Kubernetes +ok /mu);
    assert.doesNotMatch(dumb, /ESC|Examining/u);
  },
);
