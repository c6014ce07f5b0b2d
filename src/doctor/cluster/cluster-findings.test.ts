import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../kubernetes/types/node.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import { classFindings, defaultClassFinding, snapshotFinding } from './class-findings.ts';
import {
  clockFinding,
  fixedAddressFinding,
  multusFinding,
  roomFinding,
  versionFinding,
} from './cluster-findings.ts';
import { clockDifference } from './examine-cluster.ts';

test('the clocks differ by what the second of the header Date cannot explain', () => {
  const at = (before: number, server: number, after: number): number =>
    clockDifference({ before, server, after });
  assert.equal(at(10_900, 10_000, 11_100), 0);
  assert.equal(at(10_500, 11_000, 11_100), 0);
  assert.equal(at(10_500, 17_000, 11_000), 6);
  assert.equal(at(100_000, 30_000, 100_500), -69);
  assert.equal(clockFinding(-4).result, 'ok');
  assert.deepEqual(
    [clockFinding(6), clockFinding(-69), clockFinding(undefined)].map(({ result, detail }) => [
      result,
      detail,
    ]),
    [
      ['warning', "6 s ahead of this machine's"],
      ['failed', "69 s behind this machine's"],
      ['unknown', 'the API server names no time (Date) in its responses'],
    ],
  );
});

test('Kubernetes 1.30 is the oldest version', () => {
  const of = (version: string | undefined): string => versionFinding({ version }).result;
  assert.deepEqual(['v1.29.9', 'v1.30.0-rc.1', 'v1.36.3+k3s1', 'v2.0.0', undefined].map(of), [
    ...['failed', 'ok', 'ok', 'ok', 'unknown'],
  ]);
});

const storageClass = (name: string, more: Partial<StorageClass> = {}): StorageClass => ({
  ...{ metadata: { name }, provisioner: 'csi.example', reclaimPolicy: 'Delete' },
  ...more,
});
const inZone = (zone: string): Node => ({
  metadata: { name: zone, labels: { 'topology.kubernetes.io/zone': zone } },
});

test('a class that binds at once is a warning if the nodes are in several zones', () => {
  const classes = [storageClass('a'), storageClass('b', { volumeBindingMode: 'WaitForFirstConsumer' })];
  const found = {
    classes,
    snapshotClasses: [{ metadata: { name: 's' }, driver: 'csi.example', deletionPolicy: 'Delete' as const }],
    attributesClasses: [{ metadata: { name: 'fast' }, driverName: 'csi.example' }],
  };
  const of = (...zones: readonly string[]): readonly string[] =>
    classFindings(found, zones.map(inZone)).map(({ result }) => result);
  assert.deepEqual(
    [of('z1', 'z1'), of('z1', 'z2')],
    [
      ['ok', 'ok'],
      ['warning', 'ok'],
    ],
  );
  const detail = 'csi.example, binds at once, larger disks are copied, snapshots: s, attributes: fast';
  assert.equal(classFindings(found, [inZone('z1')])[0]?.detail, detail);
});

test('what a user may not list is not known, and does not count as absent', () => {
  const found = { classes: [storageClass('a')], snapshotClasses: undefined, attributesClasses: undefined };
  const [finding] = classFindings(found, undefined);
  assert.equal(finding?.result, 'unknown');
  assert.match(finding.detail, /snapshots: not known, attributes: not known; you may not list nodes/u);
  assert.match(finding.remedy, /the right to list nodes/u);
});

test('no class at all has failed; classes that may not be read are unknown', () => {
  const of = (classes: readonly StorageClass[] | undefined): string =>
    defaultClassFinding({ classes }).result;
  assert.deepEqual([of([]), of([storageClass('a')]), of(undefined)], ['failed', 'warning', 'unknown']);
  assert.equal(snapshotFinding({ snapshotClasses: [] }).result, 'warning');
  const none = { classes: undefined, snapshotClasses: undefined, attributesClasses: undefined };
  assert.match(classFindings(none, undefined)[0]?.detail ?? '', /^you may not list storageclasses/u);
});

test('addresses are named by what gives them', () => {
  assert.equal(fixedAddressFinding('kube-ovn').detail, 'by Kube-OVN');
  assert.equal(fixedAddressFinding('none').result, 'warning');
  assert.equal(fixedAddressFinding(undefined).result, 'unknown');
  assert.equal(multusFinding({ groups: undefined }).result, 'unknown');
  assert.equal(multusFinding({ groups: ['k8s.cni.cncf.io'] }).detail, 'several, by Multus');
});

test('a node without room is a warning, and a cluster without an open node has failed', () => {
  const node = (memory: string, isReady = 'True'): Node => ({
    metadata: { name: 'node-1' },
    status: { allocatable: { cpu: '4', memory }, conditions: [{ type: 'Ready', status: isReady }] },
  });
  const of = (...nodes: readonly Node[]): readonly string[] => {
    const { result, detail } = roomFinding({ nodes, pods: [] });
    return [result, detail];
  };
  assert.deepEqual(of(node('2Gi')), [...['ok', 'node-1 has 4 CPU, 2 GiB of memory and 0 GiB of disk free']]);
  assert.equal(of(node('512Mi'))[0], 'warning');
  assert.deepEqual(of(node('2Gi', 'False')), ['failed', 'none for VMs (node-1: it is not ready)']);
});
