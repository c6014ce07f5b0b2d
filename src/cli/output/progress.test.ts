import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { testEnvironment } from '../../deploy/testing/test-environment.ts';

const main = join(import.meta.dirname, '..', 'main.ts');
const needsScript = spawnSync('script', ['--version']).status !== 0 && 'needs script(1) of util-linux';

test(
  'a download shows time and bytes on a terminal of 40 columns, and Ctrl-C says how to go on',
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
    const command = `stty cols 40; exec "$NODE" "$MAIN" create-env "$MANIFEST" --state "$STATE" --vars-store "$VARS"`;
    const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
      env: {
        ...env.ports.environment,
        ...{ SHELL: '/bin/sh', TERM: 'xterm', BOSH_KUBERNETES_HOME: join(env.directory, 'home') },
        ...{ NODE: process.execPath, MAIN: main, MANIFEST: manifestPath },
        ...{ STATE: statePath, VARS: varsStorePath },
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part;
      if (/, 1\.0 of 3\.0 MiB/u.test(output) && !output.includes('^C')) child.stdin.write('\u0003');
    });
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 1, output);
    const lines = output.split('\r\u001b[2K');
    const live = lines.find((line) => line.includes(' of 3.0 MiB')) ?? assert.fail(output);
    assert.match(live, /^ {2}Do.*… 00:00:\d\d, 1\.0 of 3\.0 MiB/u);
    assert.ok((live.split(/[\r\n^]/u)[0] ?? '').length < 40, live);
    assert.match(output, /Downloading release '[^']+'\.\.\. Failed \(00:00:\d\d\)\r\n/u);
    assert.match(output, /interrupted/u);
    assert.match(output, /\[INTERRUPTED\]/u);
  },
);
