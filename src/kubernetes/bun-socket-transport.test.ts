import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHostileServers } from './testing/hostile-server.ts';
import { bunIsMissing, runInBun } from './testing/run-in-bun.ts';
import { transportConformance } from './testing/transport-conformance.ts';

test('Bun socket transport, in Bun', { skip: bunIsMissing() ?? false }, async (t) => {
  const servers = await startHostileServers();
  t.after(() => servers.close());

  const results = await runInBun('./bun-socket-transport-conformance.ts', servers);

  assert.equal(results.length, 2 * transportConformance.length);
  for (const { name, error } of results) {
    await t.test(name, () => {
      assert.equal(error, undefined);
    });
  }
});
