import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { startTlsServer } from '../../src/kubernetes/testing/tls-server.ts';
import { assertOneRecord, isMissing, runCpi } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

/** A call while the API server is unreachable, with real processes. */
for (const name of ['executable', 'bundle'] as const) {
  describe(`the CPI's ${name}`, { skip: isMissing(name) }, () => {
    test('waits for an API server that restarts, reports this on stderr, and answers', async (t) => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const requests: string[] = [];
      const { server, access, close } = await startTlsServer((request, response) => {
        requests.push(request.method ?? '');
        const isOne = request.url?.endsWith('/disk-1') === true;
        response.writeHead(isOne ? 404 : 200, { 'content-type': 'application/json' });
        const notFound = '{"kind":"Status","status":"Failure","reason":"NotFound","code":404}';
        const empty = '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}';
        response.end(isOne ? notFound : empty);
      });
      t.after(close);
      server.close();
      await once(server, 'close');
      const { server: url, ca, certificate, key } = access;
      const { host, port } = new URL(url);
      const kubernetes = { server: url, ca, client_certificate: certificate, client_key: key };
      const config = join(world.directory, `refused-${name}.json`);
      await writeFile(config, JSON.stringify({ kubernetes: { ...kubernetes, namespace: 'n' } }));

      const request = JSON.stringify({ method: 'has_disk', arguments: ['disk-1'], context: {} });
      const { stdout, stderr } = await runCpi(artefact, request, {
        config,
        // it listens as soon as the CPI has reported that it waits
        onStart: (child) => void child.stderr?.once('data', () => server.listen(Number(port), '127.0.0.1')),
      });

      const [progress, record] = stderr.split(/(?<=\n)/u);
      assert.equal(progress, `waiting for the Kubernetes API at ${host}, which refuses connections\n`);
      assert.equal(assertOneRecord(record ?? '').result, 'ok');
      const { result, error } = JSON.parse(stdout) as CpiResponse;
      assert.deepEqual([result, error], [false, null]);
      assert.deepEqual([...new Set(requests)], ['GET']);
    });
  });
}
