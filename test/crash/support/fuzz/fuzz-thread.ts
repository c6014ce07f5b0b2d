import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import type { LocalApi } from '../../../../src/cluster/api/local-api.ts';
import { updateObject } from '../../../../src/cluster/api/registry/update.ts';
import { startTestServer } from '../../../../src/cluster/api/testing/test-server.ts';
import { customResourceDefinitions } from '../../../../src/kubernetes/resources.ts';
import { networkAttachmentDefinition } from '../../../../src/cluster/api/custom/definitions/network-attachments.ts';
import { fuzzRequest, type FuzzRequest } from './fuzz-requests.ts';
import { KeptConnection } from './kept-connection.ts';
import { seeded } from './seeded.ts';

export interface FuzzOptions {
  readonly total: number;
  readonly seed: number;
}

export interface FuzzReport {
  readonly mutations: number;
  readonly pastParsing: number;
  /** How often each status came. */
  readonly codes: ReadonlyMap<number, number>;
}

/** Server and client in this thread; throws for the first answer that is wrong, with what it was to. */
async function fuzz({ total, seed }: FuzzOptions, after: (end: () => unknown) => void): Promise<FuzzReport> {
  const server = await startTestServer({ after });
  await server.api.create(customResourceDefinitions, networkAttachmentDefinition);
  const connection = await KeptConnection.open(server);
  after(() => connection.close());
  const chance = seeded(seed);
  const codes = new Map<number, number>();
  let mutations = 0;
  let pastParsing = 0;
  for (let n = 0; n < total; n += 1) {
    const fuzzed = fuzzRequest(chance, server.api);
    const { code, text } = await connection.send(fuzzed).catch((error: unknown) => {
      const cause = error instanceof Error ? error.message : String(error);
      throw new Error(`request ${n} of seed ${seed} was not answered (${cause}): ${describe(fuzzed)}`);
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
  assertAllValid(server.api);
  return { mutations, pastParsing, codes };
}

/** The one 500 that Kubernetes itself answers with (pkg/registry/core/pod/storage/eviction.go), and so do we. */
function owed(text: string): boolean {
  return text.includes(
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not',
  );
}

/** Whether decoding took the request, so that admission, validation or the store answered it. */
function isPastParsing(code: number, text: string): boolean {
  if (code === 400) return false;
  if (code === 404) return !text.includes('the server could not find the requested resource');
  return ![405, 406, 413, 415].includes(code);
}

/** What the server has stored it must also take: every object is written back unchanged. */
function assertAllValid({ registry }: LocalApi): void {
  let objects = 0;
  for (const [resource, kind] of registry.kinds) {
    for (const object of registry.store.list(resource)) {
      const location = { namespace: object.metadata.namespace, name: object.metadata.name };
      const again = updateObject(registry, kind, location, structuredClone(object), { dryRun: true });
      // a definition's status is written by the server, whatever /status was made to say
      assert.deepEqual({ ...again, status: undefined }, { ...object, status: undefined });
      objects += 1;
    }
  }
  assert(objects > 10);
}

const describe = ({ method, path, headers, body }: FuzzRequest): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 2000) ?? ''}`;

const ends: (() => unknown)[] = [];
try {
  parentPort?.postMessage(await fuzz(workerData as FuzzOptions, (end) => void ends.push(end)));
} finally {
  for (const end of ends.toReversed()) await end();
}
