import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod, PodSpec, TopologySpreadConstraint } from '../../../src/kubernetes/types/pod.ts';
import type { PersistentVolume } from '../../../src/kubernetes/types/storage.ts';
import { selectHost } from './node-choice.ts';
import type { NodeInfo } from './node-info.ts';

const node = (name: string, more: Partial<Node> = {}): Node => ({
  metadata: { name, labels: { 'kubernetes.io/hostname': name, zone: `zone-${name}` } },
  status: { allocatable: { cpu: '2', memory: '1Gi', pods: '10' } },
  ...more,
});
const pod = (spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'bosh', labels },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const requesting = (requests: Record<string, string>): Partial<PodSpec> => ({
  containers: [{ name: 'c', image: 'i', resources: { requests } }],
});
const on = (one: Node, ...podsOnNode: Pod[]): NodeInfo => ({ node: one, podsOnNode });

function choose(
  asking: Pod,
  nodes: NodeInfo[],
  more: { volumes?: PersistentVolume[]; selectedNodes?: string[] } = {},
): string {
  const choice = selectHost({ pod: asking, nodes, volumes: [], selectedNodes: [], ...more });
  return choice.node === undefined ? choice.message : choice.node.metadata.name;
}

const refused = (reasons: string, count = 1): string =>
  `0/${count} nodes are available: ${reasons}. preemption: 0/${count} nodes are available: ${count} Preemption is not helpful for scheduling.`;

suite('the choice of a node', () => {
  test('finds no node in an empty cluster', () => {
    assert.equal(choose(pod(), []), 'no nodes available to schedule pods');
  });

  test('prefers the emptiest node that fits, then the first by name', () => {
    assert.equal(choose(pod(), [on(node('b')), on(node('a'))]), 'a');
    assert.equal(choose(pod(), [on(node('b')), on(node('a'), pod())]), 'b');
  });

  test('respects the node selector and required affinity', () => {
    const affinity = (operator: 'In' | 'NotIn', values: string[]): Partial<PodSpec> => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [{ key: 'zone', operator, values }],
                matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b', 'c'] }],
              },
            ],
          },
        },
      },
    });
    const nodes = [on(node('a')), on(node('b')), on(node('c'))];

    assert.equal(choose(pod({ nodeSelector: { zone: 'zone-b' } }), nodes), 'b');
    assert.equal(choose(pod(affinity('In', ['zone-a', 'zone-c'])), nodes), 'c');
    assert.equal(
      choose(pod(affinity('NotIn', ['zone-b', 'zone-c'])), nodes),
      refused("3 node(s) didn't match Pod's node affinity/selector", 3),
    );
  });

  test('respects taints, and the tolerations for them', () => {
    const tainted = node('a', { spec: { taints: [{ key: 'disk', value: 'slow', effect: 'NoSchedule' }] } });
    const cordoned = node('a', { spec: { unschedulable: true } });

    assert.equal(choose(pod(), [on(tainted)]), refused('1 node(s) had untolerated taint {disk: slow}'));
    assert.equal(
      choose(pod({ tolerations: [{ key: 'disk', value: 'slow', effect: 'NoSchedule' }] }), [on(tainted)]),
      'a',
    );
    assert.equal(
      choose(pod({ tolerations: [{ key: 'disk', value: 'fast' }] }), [on(tainted)]),
      refused('1 node(s) had untolerated taint {disk: slow}'),
    );
    assert.equal(choose(pod({ tolerations: [{ operator: 'Exists' }] }), [on(tainted)]), 'a');
    assert.equal(choose(pod(), [on(cordoned)]), refused('1 node(s) were unschedulable'));
    assert.equal(
      choose(pod({ tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }), [
        on(cordoned),
      ]),
      'a',
    );
  });

  test('compares requests with the resources that other pods leave', () => {
    const big = pod(requesting({ cpu: '1500m', memory: '800Mi' }));

    assert.equal(choose(big, [on(node('a'), pod(requesting({ cpu: '500m' })))]), 'a');
    assert.equal(
      choose(big, [on(node('a'), pod(requesting({ cpu: '501m' })))]),
      refused('1 Insufficient cpu'),
    );
    assert.equal(choose(big, [on(node('a'), big)]), refused('1 Insufficient cpu, 1 Insufficient memory'));
    assert.equal(
      choose(pod(requesting({ 'gpu.example/x': '1' })), [on(node('a'))]),
      refused('1 Insufficient gpu.example/x'),
    );
    const full = node('a', { status: { allocatable: { pods: '1' } } });
    assert.equal(choose(pod(), [on(full, pod())]), refused('1 Too many pods'));
  });

  test('counts the largest init container if it requests more', () => {
    const asking = pod({
      ...requesting({ cpu: '100m' }),
      initContainers: [{ name: 'i', image: 'i', resources: { requests: { cpu: '3' } } }],
    });

    assert.equal(choose(asking, [on(node('a'))]), refused('1 Insufficient cpu'));
  });

  test('respects the nodes of bound volumes and of reserved claims', () => {
    const volume: PersistentVolume = {
      metadata: { name: 'v' },
      spec: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['b'] }] },
            ],
          },
        },
      },
    };
    const nodes = [on(node('a')), on(node('b'))];

    assert.equal(choose(pod(), nodes, { volumes: [volume] }), 'b');
    assert.equal(choose(pod(), nodes, { selectedNodes: ['b'] }), 'b');
    assert.equal(
      choose(pod(), nodes, { volumes: [volume], selectedNodes: ['a'] }),
      refused("2 node(s) didn't match PersistentVolume's node affinity", 2),
    );
  });

  test('respects required and preferred affinity between pods', () => {
    const term = { labelSelector: { matchLabels: { group: 'db' } }, topologyKey: 'zone' };
    const anti: Partial<PodSpec> = {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    const near: Partial<PodSpec> = {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    const soft: Partial<PodSpec> = {
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
        },
      },
    };
    const db = pod({}, { group: 'db' });
    const nodes = [on(node('a'), db), on(node('b'), pod(), pod())];

    assert.equal(choose(pod(anti), nodes), 'b');
    assert.equal(choose(pod(near), nodes), 'a');
    assert.equal(choose(pod(soft), nodes), 'b');
    assert.equal(choose(pod(near), [on(node('b'))]), refused("1 node(s) didn't match pod affinity rules"));
    assert.equal(choose(pod(near, { group: 'db' }), [on(node('b'))]), 'b');
    assert.equal(
      choose(pod(anti), [on(node('a'), db)]),
      refused("1 node(s) didn't match pod anti-affinity rules"),
    );
    assert.equal(
      choose(db, [on(node('a'), pod(anti))]),
      refused("1 node(s) didn't satisfy existing pods anti-affinity rules"),
    );
  });

  test('assigns a host port to one pod only', () => {
    const asking = pod({
      containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort: 80 }] }],
    });

    assert.equal(
      choose(asking, [on(node('a'), asking)]),
      refused("1 node(s) didn't have free ports for the requested pod ports"),
    );
  });

  test('weighs PreferNoSchedule taints higher than the number of pods', () => {
    const disliked = node('a', { spec: { taints: [{ key: 'old', effect: 'PreferNoSchedule' }] } });

    assert.equal(choose(pod(), [on(disliked), on(node('b'), pod(), pod())]), 'b');
    assert.equal(
      choose(pod({ tolerations: [{ key: 'old', operator: 'Exists' }] }), [
        on(disliked),
        on(node('b'), pod()),
      ]),
      'a',
    );
  });

  test('keeps new pods away from a NoExecute taint', () => {
    const lost = node('a', {
      spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
    });

    assert.equal(
      choose(pod(), [on(lost)]),
      refused('1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }'),
    );
  });
});

suite('the topology spread', () => {
  const db = pod({}, { group: 'db' });
  const inZone = (name: string, zone: string): Node =>
    node(name, { metadata: { name, labels: { 'kubernetes.io/hostname': name, zone } } });
  const spread = (
    whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway',
    more: Partial<TopologySpreadConstraint> = {},
  ): Pod =>
    pod(
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'zone',
            whenUnsatisfiable,
            labelSelector: { matchLabels: { group: 'db' } },
            ...more,
          },
        ],
      },
      { group: 'db' },
    );
  const uneven = refused("3 node(s) didn't match pod topology spread constraints", 3);

  test('keeps zones within the skew by a hard constraint', () => {
    const nodes = [on(inZone('a', 'z1'), db), on(inZone('b', 'z1')), on(inZone('c', 'z2'), pod(), pod())];

    assert.equal(choose(spread('DoNotSchedule'), nodes), 'c');
    assert.equal(choose(spread('DoNotSchedule', { maxSkew: 2 }), nodes), 'b');
  });

  test('does not count terminating pods, and pods of other namespaces or labels', () => {
    const others = [
      pod({}, { group: 'web' }),
      { ...db, metadata: { ...db.metadata, namespace: 'other' } },
      { ...db, metadata: { ...db.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    ];
    const nodes = [on(inZone('a', 'z1'), ...others), on(inZone('c', 'z2'), db, ...others, pod())];

    assert.equal(choose(spread('DoNotSchedule'), nodes), 'a');
  });

  test('excludes a node without the label, and counts missing domains below minDomains as empty', () => {
    const bare = node('a', { metadata: { name: 'a' } });

    assert.equal(
      choose(spread('DoNotSchedule'), [on(bare)]),
      refused("1 node(s) didn't match pod topology spread constraints (missing required label)"),
    );
    const all = [on(inZone('a', 'z1'), db), on(inZone('b', 'z1'), db), on(inZone('c', 'z1'))];
    assert.equal(choose(spread('DoNotSchedule', { minDomains: 2 }), all), uneven);
  });

  test('does not count domains whose nodes the pod cannot use', () => {
    const asking = {
      ...spread('DoNotSchedule'),
      spec: { ...spread('DoNotSchedule').spec, nodeSelector: { zone: 'z1' } },
    };

    assert.equal(choose(asking, [on(inZone('a', 'z1'), db, db), on(inZone('b', 'z2'))]), 'a');
  });

  test('prefers the emptier zone by a soft constraint, and excludes no node', () => {
    const nodes = [on(inZone('a', 'z1'), db), on(inZone('b', 'z1')), on(inZone('c', 'z2'), pod(), pod())];

    assert.equal(choose(spread('ScheduleAnyway'), nodes), 'c');
    assert.equal(choose(spread('ScheduleAnyway'), [on(inZone('a', 'z1'), db, db)]), 'a');
    assert.equal(
      choose(spread('ScheduleAnyway'), [
        on(node('a', { metadata: { name: 'a' } })),
        on(inZone('b', 'z1'), db),
      ]),
      'b',
    );
  });
});
