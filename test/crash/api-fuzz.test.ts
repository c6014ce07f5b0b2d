import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import type { LocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { updateObject } from '../../embedded-cluster/api-server/registry/update.ts';
import { startTestServer } from '../../embedded-cluster/api-server/testing/test-server.ts';
import { fuzzRequest } from './support/fuzz/fuzz-requests.ts';
import type { FuzzRequest } from './support/fuzz/fuzz-requests.ts';
import { KeptConnection } from './support/fuzz/kept-connection.ts';
import { seededRandom } from './support/random.ts';

const total = Number(process.env['BOSH_KUBERNETES_FUZZ_REQUESTS'] ?? 8_000);
const seed = Number(process.env['BOSH_KUBERNETES_FUZZ_SEED'] ?? randomInt(2 ** 32));

test(
  `${total} fuzzed requests: no crash, no 5xx, and every stored object stays valid`,
  // This is a minute of work, which takes many minutes beside a real cluster's suites.
  { timeout: 3_600_000 },
  async (t) => {
    t.diagnostic(`seed ${seed}; BOSH_KUBERNETES_FUZZ_SEED=${seed} runs the same again`);
    const server = await startTestServer(t);
    const connection = await KeptConnection.open(server);
    t.after(() => connection.close());
    const random = seededRandom(seed);
    const codes = new Map<number, number>();
    let mutations = 0;
    let pastParsing = 0;
    for (let n = 0; n < total; n += 1) {
      const fuzzed = fuzzRequest(random, server.api);
      const { code, text } = await connection.send(fuzzed).catch((error: unknown) => {
        throw new Error(`request ${n} of seed ${seed} was not answered: ${describe(fuzzed)}`, {
          cause: error,
        });
      });
      codes.set(code, (codes.get(code) ?? 0) + 1);
      assert(
        code < 500 || owed(text),
        `request ${n} of seed ${seed} was answered with ${code}: ${describe(fuzzed)}\n${text.slice(0, 2000)}`,
      );
      if (code >= 400) assert.equal(JSON.parse(text || '{"kind":"Status"}').kind, 'Status');
      if (!fuzzed.mutation) continue;
      mutations += 1;
      if (isPastParsing(code, text)) pastParsing += 1;
    }
    const counted = [...codes]
      .toSorted(([left], [right]) => left - right)
      .map(([code, count]) => `${count} x ${code}`);
    t.diagnostic(
      `${total} requests, ${mutations} mutations of valid ones, ${pastParsing} of them past parsing`,
    );
    t.diagnostic(`answers: ${counted.join(', ')}`);
    assert(pastParsing >= total / 2, `only ${pastParsing} mutations got past parsing`);
    assertAllValid(server.api);
  },
);

/**
 * Returns true for the only 500 that Kubernetes itself returns (pkg/registry/core/pod/storage/eviction.go),
 * which our server also returns.
 */
function owed(text: string): boolean {
  return text.includes(
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not',
  );
}

/**
 * Returns true if the request was decoded, so that admission, validation or the store produced the response.
 */
function isPastParsing(code: number, text: string): boolean {
  if (code === 400) return false;
  if (code === 404) return !/could not find the requested resource|does not serve/u.test(text);
  return ![405, 406, 413, 415].includes(code);
}

/** Asserts that the server accepts every object that it has stored, by writing it back unchanged. */
function assertAllValid({ registry }: LocalApi): void {
  let objects = 0;
  for (const [resource, kind] of registry.kinds) {
    for (const object of registry.store.list(resource)) {
      const location = { namespace: object.metadata.namespace, name: object.metadata.name };
      const again = updateObject(registry, kind, location, structuredClone(object), { dryRun: true });
      assert.deepEqual(again, object);
      objects += 1;
    }
  }
  assert(objects > 10);
}

const describe = ({ method, path, headers, body }: FuzzRequest): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 2000) ?? ''}`;
