import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { findFailure, tracesOfTwice } from './simulated/find-failure.ts';

const seconds = Number(process.env['BOSH_KUBERNETES_RANDOM_SECONDS'] ?? 45);
const seed = process.env['BOSH_KUBERNETES_RANDOM_SEED'] ?? String(Date.now() % 2 ** 31);

test('random concurrent calls, with kills, foreign deletions and lost nodes: no disk is in two VMs, no write is lost, nothing remains', async (t) => {
  const { runs, calls, failure } = await findFailure({ seed, seconds, shrinkSeconds: 60 });
  t.diagnostic(`${calls} calls in ${runs} runs, BOSH_KUBERNETES_RANDOM_SEED=${seed}`);
  assert.ok(failure === undefined, failure);
});

test('a seed repeats the whole run', async () => {
  for (const [one, other] of await tracesOfTwice(1, 10)) assert.equal(one, other);
});

test('a detach_disk that does nothing is found', async () => {
  const instead = { detach_disk: () => Promise.resolve(null) };
  const { failure = '' } = await findFailure({ seed: '1', seconds: 60, shrinkSeconds: 0, instead });
  assert.match(failure, /detach_disk answers success, and the VM has the disk/u);
});

test('an update_disk that answers with an empty disk is found', async () => {
  const instead = {
    update_disk: (cloud: Parameters<typeof createDisk>[0]) =>
      createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } }),
  };
  const { failure = '' } = await findFailure({ seed: '1', seconds: 60, shrinkSeconds: 0, instead });
  assert.match(failure, /VIOLATION: (disk \S+ in \S+ has write|left behind)/u);
});
