import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { after, before, test, type TestContext } from 'node:test';
import { join } from 'node:path';
import { assertOneRecord, isMissing, runCpi } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;
before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

async function writeConfig(name: string, port: number): Promise<string> {
  const config = join(world.directory, `${name}.json`);
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'the-token-of-the-user' } }],
  };
  await writeFile(config, JSON.stringify({ kubernetes: { kubeconfig }, deadlines: { connect: 1 } }));
  return config;
}

/** Opens a pipe that is full and that no process reads. */
function openFullPipe(t: TestContext): number {
  const path = join(world.directory, `pipe-${randomUUID()}`);
  execFileSync('mkfifo', [path]);
  const both = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.after(() => closeSync(both));
  assert.throws(
    () => {
      for (;;) writeSync(both, Buffer.alloc(4096));
    },
    { code: 'EAGAIN' },
  );
  const descriptor = openSync(path, 'w');
  t.after(() => closeSync(descriptor));
  return descriptor;
}

for (const name of ['bundle', 'executable'] as const) {
  test(
    `${name}: a call that SIGTERM ends writes its record first`,
    { skip: isMissing(name), timeout: 60_000 },
    async (t) => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      // it accepts the connection and answers nothing
      const server = createServer();
      t.after(() => server.close());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      assert.ok(typeof address === 'object' && address !== null);
      const config = await writeConfig(`silent-${name}`, address.port);

      const request = { method: 'has_vm', arguments: ['vm-1'], context: { request_id: 'cpi-7' } };
      const onStart = (child: ChildProcess): void =>
        void server.once('connection', () => child.kill('SIGTERM'));
      const { stdout, stderr, code } = await runCpi(artefact, JSON.stringify(request), { config, onStart });

      assert.deepEqual([stdout, code], ['', null]);
      const { method, cids, requestId, result, requests, phases } = assertOneRecord(stderr);
      assert.deepEqual([method, cids, requestId, result], ['has_vm', ['vm-1'], 'cpi-7', 'SIGTERM']);
      assert.deepEqual(
        [requests.reads, phases.map(({ kind, of }) => [kind, of])],
        [1, [['read', 'pods vm-1']]],
      );
      const full = { config, onStart, stderr: openFullPipe(t) };
      assert.deepEqual(await runCpi(artefact, JSON.stringify(request), full), {
        ...{ stdout: '', stderr: '', code: null },
      });
    },
  );

  test(
    `${name}: a call succeeds, and an error is returned, also if stderr cannot be written`,
    { skip: isMissing(name) },
    async (t) => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const stderr = openSync('/dev/full', 'w');
      t.after(() => closeSync(stderr));
      const config = await writeConfig(`refused-${name}`, 1);
      for (const [method, answer] of [
        ['info', /"api_version":3/u],
        ['has_vm', /refuse|ECONNREFUSED/u],
      ] as const) {
        const request = { method, arguments: ['vm-1'], context: {} };
        const { stdout, code } = await runCpi(artefact, JSON.stringify(request), { config, stderr });
        assert.match(stdout, answer);
        assert.equal(code, 0);
      }
    },
  );
}
