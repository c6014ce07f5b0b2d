import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Deployment, ReplicaSet } from '../../../kubernetes/workload.ts';
import { countsOf, isRescaled, rescale } from './rescale.ts';

const selector = { matchLabels: { app: 'web' } };
const template = { spec: { containers: [{ name: 'web', image: 'web:1' }] } };

const deploymentOf = (replicas: number, maxSurge: number, type?: 'Recreate'): Deployment => ({
  metadata: { name: 'web', namespace: 'bosh' },
  spec: {
    ...{ replicas, selector, template },
    strategy: type === undefined ? { rollingUpdate: { maxSurge, maxUnavailable: 2 } } : { type },
  },
});

/** A set that was scaled last when the Deployment was `before`; `age` in minutes. */
const setOf = (name: string, replicas: number, before: Deployment, age = 0, available = 0): ReplicaSet => ({
  metadata: {
    ...{ name, annotations: countsOf(before) },
    creationTimestamp: new Date(1e12 - age * 60_000).toISOString(),
  },
  spec: { replicas, selector, template },
  status: { availableReplicas: available },
});

const sizes = (...words: Parameters<typeof rescale>): Record<string, number> =>
  Object.fromEntries(rescale(...words).map(({ set, replicas }) => [set.metadata.name ?? '', replicas]));

test('a rollout that is stuck: what is new is shared by the sizes that the sets have', () => {
  const before = deploymentOf(10, 3);
  const [present, old] = [setOf('new', 5, before), setOf('old', 8, before, 1, 8)];
  assert.equal(isRescaled(before, [present, old]), false);
  assert.equal(isRescaled(deploymentOf(30, 3), [present, old]), true);
  assert.deepEqual(sizes(deploymentOf(30, 3), present, [old]), { old: 20, new: 13 });
  assert.deepEqual(sizes(deploymentOf(5, 3), present, [old]), { old: 5, new: 3 });
  assert.deepEqual(sizes(deploymentOf(0, 3), present, [old]), { old: 0, new: 0 });
});

test('of sets of one size the newer grows, and the older shrinks', () => {
  const before = deploymentOf(4, 0);
  const sets = [setOf('new', 2, before), setOf('old', 2, before, 1)] as const;
  assert.deepEqual(sizes(deploymentOf(5, 0), sets[0], [sets[1]]), { new: 3, old: 2 });
  assert.deepEqual(sizes(deploymentOf(3, 0), sets[0], [sets[1]]), { old: 1, new: 2 });
});

test('one set with pods, or none, gets all; a former one goes where the present is whole', () => {
  const [before, wanted] = [deploymentOf(3, 1), deploymentOf(7, 1)];
  assert.deepEqual(sizes(wanted, undefined, [setOf('old', 3, before, 1)]), { old: 7 });
  assert.deepEqual(sizes(wanted, setOf('new', 0, before), [setOf('old', 3, before, 1)]), { old: 7 });
  assert.deepEqual(sizes(wanted, setOf('new', 0, before), [setOf('old', 0, before, 1)]), { new: 7 });
  const whole = setOf('new', 7, wanted, 0, 7);
  assert.deepEqual(sizes(wanted, whole, [setOf('adopted', 2, before, 1)]), { adopted: 0 });
  assert.deepEqual(
    sizes(deploymentOf(7, 1, 'Recreate'), setOf('new', 1, before), [setOf('old', 2, before, 1)]),
    {},
  );
});

test('the shares are what there may be, and none is negative', () => {
  const count = fc.nat(40);
  fc.assert(
    fc.property(
      fc.nat(60),
      count,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 5 }),
      (...is) => {
        const [total, surge, [first = 1, ...others]] = is;
        const before = deploymentOf(
          others.reduce((sum, each) => sum + each, first),
          surge,
        );
        const present = setOf('new', first, before);
        const old = others.map((replicas, index) => setOf(`old-${index}`, replicas, before, index + 1));
        const all = Object.values(sizes(deploymentOf(total, surge), present, old));
        assert.ok(
          all.every((replicas) => replicas >= 0),
          JSON.stringify(all),
        );
        const sum = all.reduce((one, other) => one + other, 0);
        assert.equal(sum, total === 0 ? 0 : total + surge);
      },
    ),
  );
});
