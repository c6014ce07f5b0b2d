import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Status } from '../../src/kubernetes/object.ts';
import type { Transport } from '../../src/kubernetes/client/transport.ts';
import { startApi } from './support/api-process.ts';

const unshare = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const skip =
  spawnSync(unshare[0] ?? '', [...unshare.slice(1), 'true']).status === 0 ? false : 'needs unshare --mount';

const collection = '/api/v1/namespaces/bosh/configmaps';

/** Runs a command with a small file system, mounted at argument 1. */
const onSmallDisk = 'disk=$1; shift; mount -t tmpfs -o size=2m tmpfs "$disk" && exec "$@"';

test(
  'a full disk under the journal refuses writes, loses nothing, and is over when there is room',
  { skip, timeout: 120_000 },
  async (t) => {
    const { transport, fill, free } = await startOnSmallDisk(t);
    const kept = await writeUntilRefused(transport, fill);
    assert(kept.length > 0);

    const states = await list(transport);
    assert.deepEqual(states, kept, 'reads go on, and show what was acknowledged');
    const patch = await send(transport, 'PATCH', `${collection}/${kept[0]}`, {
      data: { a: 'b'.repeat(9000) },
    });
    assertRefused(patch);
    assertRefused(await send(transport, 'DELETE', `${collection}/${kept[0]}`));
    assert.deepEqual(await list(transport), kept, 'a refused write leaves nothing of itself');

    free();
    const { status } = await send(transport, 'POST', collection, { metadata: { name: 'zz-after' } });
    assert.equal(status, 201, 'writes work again without a restart');
    assert.deepEqual(await list(transport), [...kept, 'zz-after']);
  },
);

test('after a full disk the next process reads a complete journal', { skip, timeout: 120_000 }, async (t) => {
  const { transport, fill, copyJournal } = await startOnSmallDisk(t);
  const kept = await writeUntilRefused(transport, fill);
  const copy = copyJournal();
  const next = await startApi(copy);
  t.after(() => next.kill());
  assert.deepEqual(await list(next.transport), kept);
});

interface SmallDisk {
  readonly transport: Transport;
  /** Uses all free space. */
  readonly fill: () => void;
  /** Frees the space again. */
  readonly free: () => void;
  /** Copies the journal from the small disk and returns a cluster directory with the copy. */
  readonly copyJournal: () => string;
}

async function startOnSmallDisk(t: TestContext): Promise<SmallDisk> {
  const directory = temporary(t);
  const journal = join(directory, 'journal');
  mkdirSync(journal);
  const api = await startApi(directory, [...unshare, 'sh', '-c', onSmallDisk, 'sh', journal]);
  t.after(() => api.kill());
  // The mount is visible through the process that has it.
  const disk = `/proc/${api.pid}/root${journal}`;
  const filler = join(disk, 'filler');
  return {
    transport: api.transport,
    fill: () => fillUp(disk, filler),
    free: () => rmSync(filler),
    copyJournal: () => {
      const copy = temporary(t);
      assert.equal(spawnSync('cp', ['-r', disk, join(copy, 'journal')]).status, 0);
      return copy;
    },
  };
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-full-disk-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function fillUp(disk: string, filler: string): void {
  const descriptor = openSync(filler, 'a');
  try {
    while (statfsSync(disk).bfree > 0) writeSync(descriptor, Buffer.alloc(4096));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Fills the disk and creates objects until the last page of the journal is also full. Returns the objects
 * that were stored.
 */
async function writeUntilRefused(transport: Transport, fill: () => void): Promise<string[]> {
  const kept: string[] = [];
  for (let n = 0; n < 200; n += 1) {
    if (n === 5) fill();
    const name = `n${String(n).padStart(3, '0')}`;
    const answer = await send(transport, 'POST', collection, {
      metadata: { name },
      data: { a: 'x'.repeat(500) },
    });
    if (answer.status === 201) kept.push(name);
    else {
      assertRefused(answer);
      return kept;
    }
  }
  return assert.fail('the disk never was full');
}

function assertRefused({ status, json }: { status: number; json: unknown }): void {
  const { kind, code, reason, message } = json as Status;
  assert.deepEqual([status, kind, code, reason], [507, 'Status', 507, 'InsufficientStorage']);
  assert.match(message ?? '', /no space left .*nothing .* was stored.*free/);
}

async function send(
  transport: Transport,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<{ status: number; json: unknown }> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await transport.request({
    method,
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body), contentType }),
  });
  return { status: answer.status, json: JSON.parse(answer.body) };
}

async function list(transport: Transport): Promise<string[]> {
  const { status, json } = await send(transport, 'GET', collection);
  assert.equal(status, 200);
  return (json as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
}
