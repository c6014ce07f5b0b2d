import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { assertOneRecord, isMissing, runCpi } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;
before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

for (const name of ['bundle', 'executable'] as const) {
  test(`${name}: a call that SIGTERM ends writes its record first`, { skip: isMissing(name) }, async (t) => {
    const artefact = world.artefacts.get(name);
    assert.ok(artefact !== undefined);
    // it accepts the connection and answers nothing
    const server = createServer();
    t.after(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const config = join(world.directory, `silent-${name}.json`);
    const kubeconfig = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
      clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
      users: [{ name: 'u', user: { token: 'the-token-of-the-user' } }],
    };
    await writeFile(config, JSON.stringify({ kubernetes: { kubeconfig } }));

    const request = { method: 'has_vm', arguments: ['vm-1'], context: { request_id: 'cpi-7' } };
    const { stdout, stderr, code } = await runCpi(artefact, JSON.stringify(request), {
      config,
      onStart: (child) => server.once('connection', () => child.kill('SIGTERM')),
    });

    assert.deepEqual([stdout, code], ['', null]);
    const { method, cids, requestId, result, requests, phases } = assertOneRecord(stderr);
    assert.deepEqual([method, cids, requestId, result], ['has_vm', ['vm-1'], 'cpi-7', 'SIGTERM']);
    assert.deepEqual(
      [requests.reads, phases.map(({ kind, of }) => [kind, of])],
      [1, [['read', 'pods vm-1']]],
    );
  });
}
