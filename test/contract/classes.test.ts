import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods, priorityClasses, runtimeClasses } from '../../src/kubernetes/resources.ts';
import { unschedulablePod } from './contract-objects.ts';
import { made, makePolicySubject, type PolicySubject } from './policy-subject.ts';

/** Admission plugins Priority and RuntimeClass (kubernetes: plugin/pkg/admission/priority, runtimeclass). */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

const podWith = (name: string, spec: Partial<Pod['spec']>): Pod => {
  const pod = unschedulablePod(subject.namespace, name);
  return { ...pod, spec: { ...pod.spec, ...spec } };
};

const refusedWith = (code: number, text: string) => (error: unknown) => {
  assert(isApiError(error, code), String(error));
  assert(error.message.includes(text), error.message);
  return true;
};

test('a pod gets the priority of its class, the system ones included, and 403 for an unknown one', async () => {
  const { admin, namespace } = subject;
  const name = `${namespace}-high`;
  await admin.api.create(priorityClasses, made(undefined, name, { value: 1000, preemptionPolicy: 'Never' }));
  const high = await admin.api.create<Pod>(pods, podWith('high', { priorityClassName: name }));
  assert.deepEqual([high.spec.priority, high.spec.preemptionPolicy], [1000, 'Never']);
  const system = podWith('system', { priorityClassName: 'system-node-critical' });
  assert.equal((await admin.api.create<Pod>(pods, system)).spec.priority, 2_000_001_000);
  assert.equal((await admin.api.create<Pod>(pods, podWith('plain', {}))).spec.priority, 0);
  await assert.rejects(
    admin.api.create(pods, podWith('unknown', { priorityClassName: 'gold' })),
    refusedWith(403, 'pods "unknown" is forbidden: no PriorityClass with name gold was found'),
  );
  await assert.rejects(
    admin.api.create(pods, podWith('own', { priorityClassName: name, priority: 7 })),
    refusedWith(403, 'the integer value of priority (7) must not be provided in pod spec'),
  );
  await admin.api.delete({ resource: priorityClasses, name });
});

test('priority classes are validated, and their value cannot change', async () => {
  const { admin, namespace } = subject;
  const name = `${namespace}-kept`;
  await assert.rejects(
    admin.api.create(priorityClasses, made(undefined, `${namespace}-over`, { value: 1_000_000_001 })),
    refusedWith(422, 'maximum allowed value of a user defined priority is 1000000000'),
  );
  await assert.rejects(
    admin.api.create(priorityClasses, made(undefined, 'system-mine', { value: 1 })),
    refusedWith(422, "priority class names with 'system-' prefix are reserved for system use only"),
  );
  await admin.api.create(priorityClasses, made(undefined, name, { value: 1 }));
  await assert.rejects(admin.api.patch({ resource: priorityClasses, name }, { value: 2 }), (error) =>
    isApiError(error, 422),
  );
  await admin.api.delete({ resource: priorityClasses, name });
});

test('a missing RuntimeClass is refused', async () => {
  const { admin, namespace } = subject;
  await assert.rejects(
    admin.api.create(pods, podWith('sandboxed', { runtimeClassName: `${namespace}-sandbox` })),
    refusedWith(403, `pod rejected: RuntimeClass "${namespace}-sandbox" not found`),
  );
  const name = `${namespace}-sandbox`;
  await admin.api.create(runtimeClasses, made(undefined, name, { handler: 'runsc' }));
  const pod = await admin.api.create<Pod>(pods, podWith('sandboxed', { runtimeClassName: name }));
  assert.equal(pod.spec.runtimeClassName, name);
  await admin.api.delete({ resource: runtimeClasses, name });
});
