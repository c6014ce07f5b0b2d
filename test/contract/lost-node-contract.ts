import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { nodeLeaseNamespace, type Node } from '../../src/kubernetes/types/node.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { leases, nodes, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { ContractNodes, staying } from './node-objects.ts';
import type { Subject } from './subject.ts';

/** Milliseconds; a real cluster waits 40 to 50 s before it reacts to a lost node. */
const timeoutMs = 150_000;

/**
 * The behaviour of nodes that become unresponsive or are deleted, and of their pods (kubernetes:
 * pkg/controller/{nodelifecycle,tainteviction,podgc}).
 */
export function lostNodeContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  let world: ContractNodes;
  before(async () => {
    subject = await makeSubject();
    world = new ContractNodes(subject.api, subject.namespace);
  });
  after(async () => {
    await world.end();
    await subject.end();
  });

  const nodeOf = (name: string): Promise<Node> => subject.api.get<Node>({ resource: nodes, name });
  const taintsOf = async (name: string): Promise<string[]> =>
    ((await nodeOf(name)).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).toSorted();
  const untilEnding = (name: string): Promise<Pod> =>
    until(
      `pod ${name} to be evicted`,
      async () => {
        const pod = await world.pod(name);
        return pod.metadata.deletionTimestamp === undefined ? undefined : pod;
      },
      timeoutMs,
    );
  const untilDeleted = (name: string): Promise<boolean> =>
    until(
      `pod ${name} to be gone`,
      () =>
        world.pod(name).then(
          () => false,
          (error: unknown) => isApiError(error, 404),
        ),
      timeoutMs,
    );

  test('nodelifecycle: a cordoned node has a taint too', async () => {
    const name = await world.addNode('cordon', 'cordon');
    await subject.api.patch({ resource: nodes, name }, { spec: { unschedulable: true } });
    await until('the taint', async () =>
      (await taintsOf(name)).includes('node.kubernetes.io/unschedulable:NoSchedule'),
    );
    await subject.api.patch({ resource: nodes, name }, { spec: { unschedulable: null } });
    await until(
      'its end',
      async () => !(await taintsOf(name)).includes('node.kubernetes.io/unschedulable:NoSchedule'),
    );
  });

  test('nodelifecycle: a node is tainted while its Ready condition is not True', async () => {
    const name = await world.addNode('unready', 'unready');
    const setReady = (status: string): Promise<Node> =>
      subject.api.patch<Node>(
        { resource: nodes, name },
        { status: { conditions: [{ type: 'Ready', status, reason: 'Contract', message: 'said' }] } },
        { subresource: 'status' },
      );
    await setReady('False');
    const both = ['node.kubernetes.io/not-ready:NoExecute', 'node.kubernetes.io/not-ready:NoSchedule'];
    await until('both taints', async () => {
      const taints = await taintsOf(name);
      return both.every((taint) => taints.includes(taint));
    });
    await setReady('True');
    await until('their end', async () => !(await taintsOf(name)).some((taint) => both.includes(taint)));
  });

  test('tainteviction: NoExecute deletes pods that do not tolerate it at once, and pods with tolerationSeconds later', async () => {
    const name = await world.addNode('evicting', 'evicting');
    const key = 'bosh.cloudfoundry.org/contract';
    const tolerating = (tolerationSeconds?: number): Pick<Pod['spec'], 'tolerations'> => ({
      tolerations: [
        {
          key,
          operator: 'Exists',
          effect: 'NoExecute',
          ...(tolerationSeconds !== undefined && { tolerationSeconds }),
        },
      ],
    });
    await world.addPod('evicting', 'at-once');
    await world.addPod('evicting', 'later', tolerating(2));
    await world.addPod('evicting', 'never', tolerating());
    for (const pod of ['at-once', 'later', 'never']) await world.nodeOf(pod);
    const taintedAt = Date.now();
    const { spec } = await nodeOf(name);
    await subject.api.patch(
      { resource: nodes, name },
      { spec: { taints: [...(spec?.taints ?? []), { key, effect: 'NoExecute' }] } },
    );

    const evicted = await untilEnding('at-once');
    assert.equal(
      evicted.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason,
      'DeletionByTaintManager',
    );
    await untilEnding('later');
    assert.ok(Date.now() - taintedAt >= 2000, 'it was tolerated for two seconds');
    assert.equal((await world.pod('never')).metadata.deletionTimestamp, undefined);
  });

  test('nodelifecycle: a node whose lease is not renewed is unreachable', async () => {
    const name = await world.addNode('silent', 'silent');
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
    await subject.api.create(leases, { metadata: { name, namespace: nodeLeaseNamespace }, spec } as never);
    const requested = [
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/unreachable:NoSchedule',
    ];
    await until(
      'both taints',
      async () => {
        const taints = await taintsOf(name);
        return requested.every((taint) => taints.includes(taint));
      },
      timeoutMs,
    );
    const ready = (await nodeOf(name)).status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'Unknown');
    assert.equal(ready?.reason, 'NodeStatusUnknown');
    await subject.api
      .delete({ resource: leases, namespace: nodeLeaseNamespace, name })
      .catch(() => undefined);
  });

  test('podgc: the pods of a deleted node are deleted, the terminating ones included', async () => {
    const name = await world.addNode('deleted', 'deleted');
    for (const pod of ['lost', 'lost-ending']) {
      await world.addPod('deleted', pod);
      await world.nodeOf(pod);
    }
    await subject.api.delete({ resource: pods, namespace: subject.namespace, name: 'lost-ending' });
    await subject.api.delete({ resource: nodes, name });
    await untilDeleted('lost');
    await untilDeleted('lost-ending');
  });

  test('podgc: a terminating pod on a lost node stays until the node is out of service', async () => {
    const name = await world.addNode('outage', 'outage');
    for (const pod of ['ending', 'staying']) {
      await world.addPod('outage', pod, { tolerations: [...staying] });
      await world.nodeOf(pod);
    }
    await subject.api.patch(
      { resource: nodes, name },
      { status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'Contract', message: 'lost' }] } },
      { subresource: 'status' },
    );
    await until('the taint', async () =>
      (await taintsOf(name)).includes('node.kubernetes.io/unreachable:NoExecute'),
    );
    await subject.api.delete({ resource: pods, namespace: subject.namespace, name: 'ending' });
    assert.notEqual((await world.pod('ending')).metadata.deletionTimestamp, undefined);

    const { spec } = await nodeOf(name);
    const outOfService: NonNullable<Node['spec']>['taints'] = [
      { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
    ];
    await subject.api.patch(
      { resource: nodes, name },
      { spec: { taints: [...(spec?.taints ?? []), ...outOfService] } },
    );
    await untilDeleted('ending');
    // the pod tolerates an unreachable node, but not one that is out of service
    await untilDeleted('staying');
  });
}
