import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Pod, PodSpec, TopologySpreadConstraint } from '../../src/kubernetes/types/pod.ts';
import { nodes, pods } from '../../src/kubernetes/resources.ts';
import { ContractNodes } from './node-objects.ts';
import type { Subject } from './subject.ts';

const zone = 'topology.kubernetes.io/zone';
const inZone = (value: string): { labels: Record<string, string> } => ({ labels: { [zone]: value } });

/**
 * Scheduling of pods (kubernetes: pkg/scheduler/framework/plugins; the messages are those of the plugins).
 */
export function schedulingContract(makeSubject: () => Promise<Subject>): void {
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

  test('nodeaffinity: a zone is selected by its label', async () => {
    await world.addNode('zones', 'zones-a', inZone('z1'));
    await world.addNode('zones', 'zones-b', inZone('z2'));
    await world.addPod('zones', 'in-z2', { nodeSelector: { [zone]: 'z2' } });
    await world.addPod('zones', 'in-z3', { nodeSelector: { [zone]: 'z3' } });

    assert.equal(await world.nodeOf('in-z2'), 'zones-b');
    assert.match(await world.refusalOf('in-z3'), /node\(s\) didn't match Pod's node affinity\/selector/u);
  });

  test('nodeaffinity: required terms are alternatives, and preferred terms are not binding', async () => {
    await world.addNode('affine', 'affine-a', { labels: { disk: 'hdd' } });
    await world.addNode('affine', 'affine-b', { labels: { disk: 'ssd' } });
    const term = (
      value: string,
    ): { matchExpressions: { key: string; operator: 'In'; values: string[] }[] } => ({
      matchExpressions: [{ key: 'disk', operator: 'In', values: [value] }],
    });
    const required = (...values: string[]): Partial<PodSpec> => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: values.map(term) },
        },
      },
    });
    const preferred: Partial<PodSpec> = {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term('ssd') }],
        },
      },
    };
    await world.addPod('affine', 'required', required('tape', 'ssd'));
    await world.addPod('affine', 'refused', required('tape'));
    await world.addPod('affine', 'preferred', preferred);

    assert.equal(await world.nodeOf('required'), 'affine-b');
    assert.equal(await world.nodeOf('preferred'), 'affine-b');
    assert.match(await world.refusalOf('refused'), /affinity\/selector/u);
  });

  test('tainttoleration: NoSchedule needs a toleration, and PreferNoSchedule only lowers the preference', async () => {
    await world.addNode('tainted', 'tainted-a', {
      taints: [{ key: 'pool', value: 'bosh', effect: 'NoSchedule' }],
    });
    await world.addPod('tainted', 'stranger');
    assert.match(await world.refusalOf('stranger'), /node\(s\) had untolerated taint\(?s?\)? ?\{?/u);
    await world.addPod('tainted', 'ours', {
      tolerations: [{ key: 'pool', operator: 'Equal', value: 'bosh', effect: 'NoSchedule' }],
    });
    assert.equal(await world.nodeOf('ours'), 'tainted-a');
    await world.addNode('tainted', 'tainted-b', { taints: [{ key: 'old', effect: 'PreferNoSchedule' }] });
    assert.equal(await world.nodeOf('stranger'), 'tainted-b');
  });

  test('nodeunschedulable: a cordoned node gets no pods, and gets them after it is uncordoned', async () => {
    const name = await world.addNode('cordoned', 'cordoned-a');
    await subject.api.patch({ resource: nodes, name }, { spec: { unschedulable: true } });
    await world.addPod('cordoned', 'waiting');
    assert.match(await world.refusalOf('waiting'), /node\(s\) were unschedulable|unschedulable/u);
    await world.addPod('cordoned', 'tolerating', {
      tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }],
    });
    assert.equal(await world.nodeOf('tolerating'), 'cordoned-a');
    await subject.api.patch({ resource: nodes, name }, { spec: { unschedulable: null } });
    assert.equal(await world.nodeOf('waiting'), 'cordoned-a');
  });

  test('schedulinggates: a pod waits for the last of its gates, and gates can only be removed', async () => {
    await world.addNode('gates', 'gates-a');
    const [one, other] = [{ name: 'example.com/one' }, { name: 'example.com/other' }];
    await world.addPod('gates', 'gated', { schedulingGates: [one, other] });
    const gated = { resource: pods, namespace: subject.namespace, name: 'gated' };
    const leave = (...schedulingGates: { name: string }[]): Promise<Pod> =>
      subject.api.patch<Pod>(gated, { spec: { schedulingGates } });

    const { status } = await subject.api.get<Pod>(gated);
    const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled');
    assert.deepEqual([condition?.status, condition?.reason], ['False', 'SchedulingGated']);
    await assert.rejects(
      leave(one, { name: 'example.com/new' }),
      /spec\.schedulingGates\[1\]\.name: Forbidden: only deletion is allowed, but found new scheduling gate 'example\.com\/new'/u,
    );
    assert.equal((await leave(other)).spec.nodeName, undefined);
    assert.equal((await leave()).spec.schedulingGates, undefined);

    assert.equal(await world.nodeOf('gated'), 'gates-a');
    await assert.rejects(leave(one), /only deletion is allowed/u);
    await assert.rejects(
      world.addPod('gates', 'placed', { schedulingGates: [one], nodeName: 'gates-a' }),
      /spec\.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared/u,
    );
  });

  test('interpodaffinity: required and preferred terms use any node label', async () => {
    await world.addNode('apart', 'apart-a', inZone('z1'));
    await world.addNode('apart', 'apart-b', inZone('z1'));
    await world.addNode('apart', 'apart-c', inZone('z2'));
    const db = { labelSelector: { matchLabels: { group: 'apart' } } };
    const labels = { group: 'apart' };
    const away = (topologyKey: string): Partial<PodSpec> => ({
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...db, topologyKey }] },
      },
    });
    await world.addPod('apart', 'first', { nodeSelector: { [zone]: 'z1' } }, labels);
    await world.nodeOf('first');
    await world.addPod('apart', 'other-zone', away(zone), labels);
    assert.equal(await world.nodeOf('other-zone'), 'apart-c');
    await world.addPod('apart', 'no-zone-left', away(zone), labels);
    assert.match(await world.refusalOf('no-zone-left'), /didn't match pod anti-affinity rules/u);
    const near: Partial<PodSpec> = {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ ...db, topologyKey: 'kubernetes.io/hostname' }],
        },
      },
    };
    await world.addPod('apart', 'near', { ...near, nodeSelector: { [zone]: 'z2' } });
    assert.equal(await world.nodeOf('near'), 'apart-c');
  });

  test('podtopologyspread: DoNotSchedule keeps the skew, and ScheduleAnyway prefers the emptier zone', async () => {
    await world.addNode('spread', 'spread-a', inZone('z1'));
    await world.addNode('spread', 'spread-b', inZone('z2'));
    const labels = { group: 'spread' };
    const constraint = (
      whenUnsatisfiable: TopologySpreadConstraint['whenUnsatisfiable'],
    ): Partial<PodSpec> => ({
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: zone, whenUnsatisfiable, labelSelector: { matchLabels: labels } },
      ],
    });
    const nodeNames: string[] = [];
    for (const name of ['soft-1', 'soft-2']) {
      await world.addPod('spread', name, constraint('ScheduleAnyway'), labels);
      nodeNames.push(await world.nodeOf(name));
    }
    assert.deepEqual(nodeNames.toSorted(), ['spread-a', 'spread-b']);
    const full = { ...constraint('DoNotSchedule'), nodeSelector: { [zone]: 'z1' } };
    await world.addPod(
      'spread',
      'third',
      { ...constraint('ScheduleAnyway'), ...{ nodeSelector: { [zone]: 'z1' } } },
      labels,
    );
    assert.equal(await world.nodeOf('third'), 'spread-a');
    // only the zones that the pod's own selector allows count: with one zone there is no skew
    await world.addPod('spread', 'fourth', full, labels);
    assert.equal(await world.nodeOf('fourth'), 'spread-a');
    await world.addPod('spread', 'fifth', constraint('DoNotSchedule'), labels);
    assert.equal(await world.nodeOf('fifth'), 'spread-b');
  });

  test('noderesources: a pod needs a node with its requested resources', async () => {
    await world.addNode('small', 'small-a', { allocatable: { cpu: '1' } });
    const asking = (cpu: string): Partial<PodSpec> => ({
      containers: [{ name: 'main', image: 'i', resources: { requests: { cpu } } }],
    });
    await world.addPod('small', 'fits', asking('700m'));
    assert.equal(await world.nodeOf('fits'), 'small-a');
    await world.addPod('small', 'too-big', asking('400m'));
    assert.match(await world.refusalOf('too-big'), /Insufficient cpu/u);
  });
}
