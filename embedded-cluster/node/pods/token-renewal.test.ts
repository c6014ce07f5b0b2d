import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { ManualClock } from '../../../src/kubernetes/testing/manual-clock.ts';
import { renewTokens } from './token-renewal.ts';

const podWith = (...seconds: number[]): Pod => ({
  metadata: { namespace: 'bosh', name: 'p', uid: 'u' },
  spec: {
    containers: [],
    volumes: seconds.map((expirationSeconds, index) => ({
      name: `v${index}`,
      projected: { sources: [{ serviceAccountToken: { expirationSeconds, path: 'token' } }] },
    })),
  },
});

interface Kept {
  readonly clock: ManualClock;
  readonly renewals: number[];
  readonly events: string[];
  readonly end: () => Promise<void>;
}

function keep(pod: Pod, fail: () => boolean = () => false): Kept {
  const clock = new ManualClock();
  const renewals: number[] = [];
  const events: string[] = [];
  const over = new AbortController();
  const began = clock.now();
  const services = {
    clock,
    volumes: {
      renewTokens: async () => {
        await turn();
        if (fail()) throw new Error('no answer');
        renewals.push(clock.now() - began);
      },
    },
    events: { record: (_pod: unknown, { message }: { message: string }) => void events.push(message) },
  };
  const done = renewTokens(pod, services, over.signal);
  return {
    ...{ clock, renewals, events },
    end: async () => {
      over.abort();
      await done;
    },
  };
}

/** Advances the clock, and lets the code that this wakes run until its next sleep. */
async function pass(clock: ManualClock, milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  for (let turns = 0; turns < 5; turns += 1) await turn();
}

test('tokens are renewed repeatedly at four fifths of the shortest lifetime', async () => {
  const kept = keep(podWith(3600, 600));
  await pass(kept.clock, 479_999);
  assert.deepEqual(kept.renewals, []);
  await pass(kept.clock, 1);
  await pass(kept.clock, 480_000);
  assert.deepEqual(kept.renewals, [480_000, 960_000]);
  await kept.end();
  assert.deepEqual(kept.clock.pending, []);
});

test('a failed renewal is reported and retried soon', async () => {
  let failures = 1;
  const kept = keep(podWith(600), () => (failures -= 1) >= 0);
  await pass(kept.clock, 480_000);
  assert.deepEqual(kept.events, ['a service account token could not be renewed: no answer']);
  await pass(kept.clock, 10_000);
  assert.deepEqual(kept.renewals, [490_000]);
  await kept.end();
});

test('a pod without tokens requests none', async () => {
  const kept = keep(podWith());
  await kept.end();
  assert.deepEqual(kept.clock.pending, []);
});
