import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/api-error.ts';
import type { ObjectReference, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { deployments, pods, replicaSets, replicationControllers } from '../../src/kubernetes/resources.ts';
import type { Deployment, PodTemplateSpec, ReplicaSet } from '../../src/kubernetes/workload.ts';
import type { Subject } from './subject.ts';
import { until } from './until.ts';

/** An image that no cluster has: what is tested is how many pods there are, and whose. */
const template = (app: string, image = 'contract.invalid/none:1'): PodTemplateSpec => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image, command: ['true'] }], terminationGracePeriodSeconds: 0 },
});

/** Controllers of pods (kubernetes.io: Workloads). */
export function workloadContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  const limit = { timeout: 120_000 };
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const at = (resource: Resource, name: string): ObjectReference => ({
    ...{ resource, namespace: subject.namespace, name },
  });
  const podsOf = async (app: string): Promise<Pod[]> => {
    const { items } = await subject.api.list<Pod>(pods, {
      ...{ namespace: subject.namespace, labelSelector: `app=${app}` },
    });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const count = (app: string, wanted: number): Promise<Pod[]> =>
    until(`${wanted} pods of ${app}`, async () => {
      const found = await podsOf(app);
      return found.length === wanted ? found : undefined;
    });
  const gone = (reference: ObjectReference): Promise<true> =>
    until(`${reference.name} to go`, async () => {
      try {
        await subject.api.get<KubernetesObject>(reference);
        return undefined;
      } catch (error) {
        if (isApiError(error, 404)) return true;
        throw error;
      }
    });

  test('a ReplicaSet has as many pods as it wants, and takes them along', limit, async () => {
    const set: ReplicaSet = {
      metadata: { namespace: subject.namespace, name: 'set' },
      spec: { replicas: 3, selector: { matchLabels: { app: 'set' } }, template: template('set') },
    };
    await subject.api.create(replicaSets, set);
    const [pod] = await count('set', 3);
    const [owner] = pod?.metadata.ownerReferences ?? [];
    assert.deepEqual([owner?.kind, owner?.controller, owner?.blockOwnerDeletion], ['ReplicaSet', true, true]);
    await subject.api.patch(at(replicaSets, 'set'), { spec: { replicas: 1 } });
    await count('set', 1);
    const { status } = await until('a status', async () => {
      const now = await subject.api.get<ReplicaSet>(at(replicaSets, 'set'));
      return now.status?.replicas === 1 ? now : undefined;
    });
    assert.equal(status?.fullyLabeledReplicas, 1);
    await subject.api.delete(at(replicaSets, 'set'), { propagationPolicy: 'Foreground' });
    await gone(at(replicaSets, 'set'));
    await count('set', 0);
  });

  test('a ReplicationController leaves its pods behind where nobody says otherwise', limit, async () => {
    const controller = {
      metadata: { namespace: subject.namespace, name: 'controller' },
      spec: { replicas: 1, template: template('controller') },
    };
    const made = await subject.api.create(replicationControllers, controller);
    assert.deepEqual(made.metadata, { ...made.metadata, labels: { app: 'controller' } });
    await count('controller', 1);
    await subject.api.delete(at(replicationControllers, 'controller'));
    await gone(at(replicationControllers, 'controller'));
    const [pod] = await count('controller', 1);
    assert.equal(pod?.metadata.ownerReferences, undefined);
    await subject.api.delete(at(pods, pod?.metadata.name ?? ''), { gracePeriodSeconds: 0 });
  });

  test('a Deployment has a ReplicaSet for each template', limit, async () => {
    const deployment: Deployment = {
      metadata: { namespace: subject.namespace, name: 'deployment' },
      spec: {
        ...{ replicas: 2, selector: { matchLabels: { app: 'deployment' } } },
        ...{ strategy: { type: 'Recreate' }, template: template('deployment') },
      },
    };
    await subject.api.create(deployments, deployment);
    await count('deployment', 2);
    const second = template('deployment', 'contract.invalid/none:2');
    await subject.api.patch(at(deployments, 'deployment'), { spec: { template: second } });
    await until('pods of the second template alone', async () => {
      const found = await podsOf('deployment');
      const isNew = found.every(({ spec }) => spec.containers[0]?.image === 'contract.invalid/none:2');
      return found.length === 2 && isNew ? true : undefined;
    });
    const { items } = await subject.api.list<ReplicaSet>(replicaSets, {
      ...{ namespace: subject.namespace, labelSelector: 'app=deployment' },
    });
    const revision = 'deployment.kubernetes.io/revision';
    const sets = items.map(
      ({ metadata, spec }) => `${metadata.annotations?.[revision] ?? ''}:${spec.replicas ?? ''}`,
    );
    assert.deepEqual(sets.toSorted(), ['1:0', '2:2']);
    await subject.api.delete(at(deployments, 'deployment'), { propagationPolicy: 'Foreground' });
    await gone(at(deployments, 'deployment'));
    await count('deployment', 0);
  });

  test('a selector that does not select the template, or another one later: 422', limit, async () => {
    const set = (app: string): ReplicaSet => ({
      metadata: { namespace: subject.namespace, name: 'selector' },
      spec: { replicas: 0, selector: { matchLabels: { app } }, template: template('selector') },
    });
    await assert.rejects(subject.api.create(replicaSets, set('other')), (error) => isApiError(error, 422));
    await subject.api.create(replicaSets, set('selector'));
    await assert.rejects(
      subject.api.patch(at(replicaSets, 'selector'), { spec: { selector: { matchLabels: { more: 'x' } } } }),
      (error) => isApiError(error, 422),
    );
    await subject.api.delete(at(replicaSets, 'selector'));
  });
}
