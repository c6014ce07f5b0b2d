import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHostileServers } from '../testing/hostile-server.ts';
import { bunIsMissing, runInBun } from '../testing/run-in-bun.ts';
import { proxyConformance } from '../testing/proxy-conformance.ts';
import { transportAttacks } from '../testing/transport-attacks.ts';
import { transportConformance } from '../testing/transport-conformance.ts';

test('fetch transport, in Bun', { skip: bunIsMissing() ?? false }, async (t) => {
  const servers = await startHostileServers();
  t.after(() => servers.close());

  const results = await runInBun('./fetch-transport-conformance.ts', servers);

  const cases = [...transportConformance, ...proxyConformance, ...transportAttacks];
  assert.deepEqual(
    results.map(({ name }) => name),
    cases.map(({ name }) => name),
  );
  for (const { name, error } of results) {
    await t.test(name, () => {
      assert.equal(error, undefined);
    });
  }
});
