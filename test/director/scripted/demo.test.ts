import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { noNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { run } from '../../support/run.ts';

const demo = [process.execPath, join(import.meta.dirname, 'demo.ts')];

test(
  'director:demo deploys two instances, deletes them, and prints a line for each call',
  { skip: noNatsServer, timeout: 300_000 },
  async () => {
    const { exitCode, stdout, stderr } = await run(demo);

    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    const others = lines.filter(
      (line) => !/^(cpi [a-z_]+|agent vm-\S+ [a-z_]+( [a-z-]+)?) \d+ ms$/u.test(line),
    );
    assert.deepEqual(others, [
      'http://127.64.0.10:8080/ 200',
      'http://127.64.0.11:8080/ 200',
      '2 instances running',
      'nothing left',
    ]);
  },
);

test('director:demo fails if a step fails', { skip: noNatsServer, timeout: 120_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'demo-path-'));
  const { PATH: path = '' } = process.env;
  // starts the real server, without the user of the director
  const script = `PATH=${path}
[ "$1" = -c ] || exec nats-server "$@"
sed s/default.director/other.director/ "$2" > "$2.changed" && exec nats-server -c "$2.changed"`;
  await writeFile(join(directory, 'nats-server'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { exitCode, stdout, stderr } = await run(demo, { env: { PATH: directory } });
  await rm(directory, { recursive: true });

  assert.deepEqual({ exitCode, stdout }, { exitCode: 1, stdout: '' });
  assert.match(stderr, /authorization violation/iu);
});

test('director:demo without nats-server names the Debian package', async () => {
  const { exitCode, stdout, stderr } = await run(demo, { env: { PATH: '/nonexistent' } });

  assert.deepEqual({ exitCode, stdout }, { exitCode: 1, stdout: '' });
  assert.match(stderr, /^director:demo needs .* install it with: apt-get install nats-server\n$/u);
});
