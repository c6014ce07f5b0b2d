import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { PodDisruptionBudget } from '../../src/kubernetes/types/service.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { podDisruptionBudgets, pods } from '../../src/kubernetes/resources.ts';
import { unschedulablePod } from './contract-objects.ts';
import { made, makePolicySubject, type PolicySubject } from './policy-subject.ts';
import { until } from '../support/until.ts';

/**
 * PodDisruptionBudgets and evictions (kubernetes: pkg/controller/disruption,
 * pkg/registry/core/pod/storage/eviction.go). The pods have no node; the tests write into their status that
 * they run and are ready, as a kubelet would.
 */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

async function runningPods(group: string, ready: readonly boolean[]): Promise<string[]> {
  const { admin, namespace } = subject;
  const names = ready.map((_, index) => `${group}-${index}`);
  for (const [index, name] of names.entries()) {
    await admin.api.create<Pod>(pods, unschedulablePod(namespace, name, { labels: { group } }));
    const condition = { type: 'Ready', status: ready[index] === true ? 'True' : 'False' };
    await admin.api.patch(
      { resource: pods, namespace, name },
      { status: { phase: 'Running', conditions: [condition] } },
      { subresource: 'status' },
    );
  }
  return names;
}

async function budget(group: string, spec: object): Promise<void> {
  const selector = { matchLabels: { group } };
  await subject.admin.api.create(
    podDisruptionBudgets,
    made(subject.namespace, group, { spec: { selector, ...spec } }),
  );
}

const statusOf = async (group: string): Promise<PodDisruptionBudget['status']> => {
  const { admin, namespace } = subject;
  const reference = { resource: podDisruptionBudgets, namespace, name: group };
  return (await admin.api.get<PodDisruptionBudget>(reference)).status;
};

const counts = async (group: string): Promise<number[] | undefined> => {
  const status = await statusOf(group);
  if (status === undefined || (status.observedGeneration ?? 0) < 1) return undefined;
  return [status.expectedPods, status.currentHealthy, status.desiredHealthy, status.disruptionsAllowed];
};

/** Waits until the budget's expected, current, desired and allowed counts are these. */
async function reaches(group: string, expected: readonly number[]): Promise<void> {
  await until(`budget ${group} with ${expected.join()}`, async () =>
    String(await counts(group)) === String(expected) ? true : undefined,
  );
}

async function evict(
  name: string,
  more: object = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { admin, namespace } = subject;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace }, ...more };
  return admin.call('POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, body);
}

/**
 * Evicts a pod that is not ready. A server requests another attempt if a program, such as the scheduler, has
 * changed the pod at the same moment.
 */
async function evictUnready(name: string): Promise<void> {
  await until(`the eviction of ${name}`, async () => {
    const { status, body } = await evict(name);
    if (status === 429 && JSON.stringify(body).includes('is still being processed by the server'))
      return false;
    assert.equal(status, 201);
    return true;
  });
}

const exists = async (name: string): Promise<boolean> => {
  const { admin, namespace } = subject;
  const { items } = await admin.api.list(pods, { namespace, fieldSelector: `metadata.name=${name}` });
  return items.length > 0;
};

test('a budget allows evictions of ready pods beyond its number, and then an eviction is 429 with the reason', async () => {
  const [first = '', second = '', third = ''] = await runningPods('number', [true, true, true]);
  await budget('number', { minAvailable: 2 });
  await reaches('number', [3, 3, 2, 1]);
  const dry = await evict(first, { deleteOptions: { dryRun: ['All'] } });
  assert.equal(dry.status, 201);
  assert(await exists(first));
  assert.equal((await evict(first)).status, 201);
  assert(!(await exists(first)));
  const refused = await evict(second);
  assert.equal(refused.status, 429);
  assert.equal(refused.body['reason'], 'TooManyRequests');
  assert.equal(refused.body['message'], "Cannot evict pod as it would violate the pod's disruption budget.");
  await reaches('number', [2, 2, 2, 0]);
  const { causes } = (await evict(second)).body['details'] as { causes: object[] };
  assert.deepEqual(causes, [
    {
      reason: 'DisruptionBudget',
      message: 'The disruption budget number needs 2 healthy pods and has 2 currently',
    },
  ]);
  assert((await exists(second)) && (await exists(third)));
  await subject.admin.api.delete({ resource: pods, namespace: subject.namespace, name: second });
  assert(!(await exists(second)), 'a delete asks no budget');
});

test('a pod that is not ready may be evicted while the others are enough, or always if the budget allows it', async () => {
  const [, sick = ''] = await runningPods('unready', [true, false]);
  await budget('unready', { minAvailable: 1 });
  await reaches('unready', [2, 1, 1, 0]);
  await evictUnready(sick);
  const [lone = ''] = await runningPods('always', [false]);
  await budget('always', { minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  await reaches('always', [1, 0, 1, 0]);
  await evictUnready(lone);
});

test('a percentage of pods without a controller allows no eviction', async () => {
  const [pod = ''] = await runningPods('share', [true, true]);
  await budget('share', { maxUnavailable: '50%' });
  await reaches('share', [0, 2, 0, 0]);
  assert.equal((await evict(pod)).status, 429);
});

test('a pending pod is evicted without a budget, and preconditions are checked', async () => {
  const { admin, namespace } = subject;
  await budget('waiting', { minAvailable: 1 });
  const pod = await admin.api.create(
    pods,
    unschedulablePod(namespace, 'waiting-0', { labels: { group: 'waiting' } }),
  );
  const other = { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } };
  assert.equal((await evict('waiting-0', { deleteOptions: other })).status, 409);
  const own = { preconditions: { uid: pod.metadata.uid } };
  assert.equal((await evict('waiting-0', { deleteOptions: own })).status, 201);
  assert.equal((await evict('waiting-0')).status, 404);
});

test('budgets are validated', async () => {
  const { admin, namespace } = subject;
  const refusals: [object, RegExp][] = [
    [{ minAvailable: 1, maxUnavailable: 1 }, /minAvailable and maxUnavailable cannot be both set/u],
    [{ minAvailable: -1 }, /spec\.minAvailable: Invalid value: -1: must be greater than or equal to 0/u],
    [{ minAvailable: 'half' }, /spec\.minAvailable: Invalid value: "half": a valid percent string/u],
    [
      { maxUnavailable: '101%' },
      /spec\.maxUnavailable: Invalid value: "101%": must not be greater than 100%/u,
    ],
    [{ unhealthyPodEvictionPolicy: 'Never' }, /Unsupported value: "Never"/u],
  ];
  for (const [spec, text] of refusals) {
    await assert.rejects(
      admin.api.create(podDisruptionBudgets, made(namespace, 'bad', { spec })),
      (error) => {
        assert(isApiError(error, 422, 'Invalid'), String(error));
        assert.match(error.message, text);
        return true;
      },
    );
  }
});
