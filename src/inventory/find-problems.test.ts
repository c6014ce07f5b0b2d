import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plannedPod } from '../cpi/testing/planned-pod.ts';
import type { Pod, PodStatus } from '../kubernetes/types/pod.ts';
import { findProblems } from './find-problems.ts';
import { takeInventory } from './inventory.ts';
import { type ObjectLists, asObjectLists } from './object-lists.ts';
import type { Problem } from './problem.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const longAgo = '2026-01-01T00:00:00Z';
const label = (name: string): string => `bosh.cloudfoundry.org/${name}`;
const kind = (value: string): Record<string, string> => ({ [label('kind')]: value });
const metadata = JSON.stringify({ deployment: 'dep', job: 'web', index: 0, id: 'i-1', director: 'd' });

function vmPod(status: PodStatus, change: Partial<Pod['metadata']> = {}): Pod {
  const { annotations } = plannedPod().metadata;
  return {
    metadata: {
      ...{ name: 'vm-1', namespace: 'bosh', uid: 'pod-1', creationTimestamp: longAgo, labels: kind('vm') },
      annotations: { ...annotations, [label('metadata')]: metadata },
      ...change,
    },
    spec: { nodeName: 'node-1', containers: [] },
    status,
  };
}

const waiting = (reason: string, message?: string): PodStatus => ({
  phase: 'Pending',
  containerStatuses: [
    {
      ...{ name: 'vm', image: 'i', imageID: '', ready: false, restartCount: 3 },
      state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
      lastState: { terminated: { exitCode: 7 } },
    },
  ],
});
const ready: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const event = (uid: string, message: string) => ({
  metadata: { name: 'e', namespace: 'bosh' },
  ...{ involvedObject: { uid }, reason: 'FailedMount', message, lastTimestamp: longAgo },
});

const claim = (change: object = {}, more: object = {}) => ({
  metadata: {
    ...{ name: 'disk-1', namespace: 'bosh', uid: 'claim-1', creationTimestamp: longAgo },
    labels: kind('disk'),
    ...change,
  },
  spec: { resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast' },
  status: { phase: 'Bound' },
  ...more,
});

function problemsOf(lists: object): Problem[] {
  const all: ObjectLists = asObjectLists(lists);
  return findProblems(takeInventory(all), all, now);
}

const cases: readonly (readonly [name: string, lists: object, problem: RegExp, next: RegExp])[] = [
  [
    'image pull',
    { vmPods: [vmPod(waiting('ImagePullBackOff', 'no such image'))] },
    /vm: ImagePullBackOff: no such image/u,
    /registry/u,
  ],
  [
    'crash',
    { vmPods: [vmPod(waiting('CrashLoopBackOff'))] },
    /CrashLoopBackOff: it ended with exit code 7/u,
    /kubectl logs --previous vm-1 -c vm/u,
  ],
  [
    'no room',
    {
      vmPods: [
        vmPod({
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', message: 'Insufficient cpu' }],
        }),
      ],
    },
    /no node takes it: Insufficient cpu/u,
    /make room/u,
  ],
  [
    'not ready',
    { vmPods: [vmPod({ phase: 'Running' })], warnings: [event('pod-1', 'no mount')] },
    /not ready \(Not ready\): FailedMount: no mount/u,
    /kubectl describe pod vm-1/u,
  ],
  [
    'ended',
    { vmPods: [vmPod({ phase: 'Failed', reason: 'Evicted' })] },
    /its pod has ended: Evicted/u,
    /bosh -d dep recreate web\/i-1/u,
  ],
  [
    'terminating',
    { vmPods: [vmPod(ready, { deletionTimestamp: longAgo })] },
    /should have ended/u,
    /kubelet of node node-1/u,
  ],
  [
    'lost node',
    {
      vmPods: [vmPod(ready)],
      nodes: [
        {
          metadata: { name: 'node-1' },
          status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: longAgo }] },
        },
      ],
    },
    /does not answer since 2026-01-01.*vm-1/u,
    /Nodes of a real cluster/u,
  ],
  [
    'deleted node',
    { vmPods: [vmPod(ready)], nodes: [] },
    /the node was deleted; on it: vm-1/u,
    /docs\/recovery.md/u,
  ],
  [
    'missing pod',
    {
      vmPods: [],
      vmSecrets: [
        {
          metadata: {
            name: 'vm-1',
            uid: 's',
            creationTimestamp: longAgo,
            labels: kind('vm'),
            annotations: { [label('creation')]: 'done' },
          },
        },
      ],
    },
    /its pod does not exist/u,
    /bosh cloud-check/u,
  ],
  [
    'unfinished',
    {
      vmPods: [],
      vmSecrets: [{ metadata: { name: 'vm-1', uid: 's', creationTimestamp: longAgo, labels: kind('vm') } }],
    },
    /create_vm is running or was killed/u,
    /orphans/u,
  ],
  [
    'out of memory',
    {
      vmPods: [
        vmPod({
          ...ready,
          containerStatuses: [
            {
              name: 'vm',
              image: 'i',
              imageID: '',
              ready: true,
              restartCount: 2,
              lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
            },
          ],
        }),
      ],
    },
    /memory limit \(2 restarts\)/u,
    /more memory/u,
  ],
  [
    'unclaimed disk',
    { claims: [claim({ labels: { ...kind('disk'), [label('unclaimed')]: 'true' } })] },
    /neither attached nor described/u,
    /^if create-env made it, run up or create-env .*; otherwise bosh-kubernetes orphans/u,
  ],
  ['lost disk', { claims: [claim({}, { status: { phase: 'Lost' } })] }, /volume does not exist/u, /backup/u],
  [
    'claim without a volume',
    {
      claims: [claim({}, { status: { phase: 'Pending' } })],
      diskWarnings: [event('claim-1', 'quota exceeded')],
    },
    /no volume: FailedMount: quota exceeded/u,
    /StorageClass fast/u,
  ],
  [
    'deleted claim of an attached disk',
    {
      claims: [claim({ deletionTimestamp: longAgo, labels: { ...kind('disk'), [label('vm-id')]: 'vm-1' } })],
    },
    /data will be lost/u,
    /docs\/recovery.md/u,
  ],
  [
    'resizing',
    {
      claims: [
        claim(
          {},
          { status: { phase: 'Bound', conditions: [{ type: 'FileSystemResizePending', status: 'True' }] } },
        ),
      ],
    },
    /grows when it is attached/u,
    /attach it/u,
  ],
  [
    'lost attachment',
    {
      vmPods: [vmPod(ready)],
      diskPods: [],
      claims: [claim({ annotations: { [label('attached-to')]: 'bosh/vm-1/pod-1' } })],
    },
    /may still be mounted in VM 'vm-1'/u,
    /recreate/u,
  ],
  [
    'snapshot',
    {
      snapshots: [
        {
          metadata: { name: 'snap-1', creationTimestamp: longAgo, labels: kind('snapshot') },
          spec: {},
          status: { error: { message: 'no space' } },
        },
      ],
    },
    /the driver reports: no space/u,
    /snapshotter/u,
  ],
  [
    'quota',
    {
      quotas: [
        {
          metadata: { name: 'q' },
          spec: { hard: { pods: '2', 'requests.storage': '1Gi' } },
          status: { used: { pods: '2', 'requests.storage': '1Mi' } },
        },
      ],
    },
    /used up: pods 2 of 2$/u,
    /resourcequota q/u,
  ],
];

const ofDirector = (kindOf: string) => ({ ...kind(kindOf), [label('director-id')]: 'one' });
const describedBy = (director: string) => ({
  [label('metadata')]: JSON.stringify({ deployment: 'dep', job: 'web', index: 0, director }),
});
const createdSecret = {
  metadata: {
    ...{ name: 'vm-1', uid: 's', creationTimestamp: longAgo, labels: ofDirector('vm') },
    annotations: { [label('creation')]: 'done' },
  },
};

test('an unclaimed disk of create-env is left to the next create-env, and that of a director is not', () => {
  const adviceFor = (director: string): Pick<Problem, 'name' | 'next'> | undefined => {
    const labels = { ...ofDirector('disk'), [label('unclaimed')]: 'true' };
    const described = claim({
      name: 'disk-2',
      labels: ofDirector('disk'),
      annotations: describedBy(director),
    });
    return problemsOf({ claims: [claim({ labels }), described] })[0];
  };

  const { name, next = '' } = adviceFor('bosh-init') ?? {};
  assert.equal(name, 'dep');
  assert.match(next, /^run up or create-env .* uses the disk .*; if it stays unclaimed, .* orphans/u);
  assert.match(adviceFor('lab')?.next ?? '', /^if no call is running, bosh-kubernetes orphans/u);
});

test('a VM without a pod has the name of its disk, and one next step: that of its creator', () => {
  const problemFor = (director: string): Problem | undefined => {
    const annotations = { ...describedBy(director), [label('attached-to')]: 'bosh/vm-1/pod-1' };
    const disk = claim({ labels: ofDirector('disk'), annotations });
    const found = problemsOf({ vmPods: [], vmSecrets: [createdSecret], claims: [disk] });
    assert.equal(found.length, 1);
    return found[0];
  };

  const ofCreateEnv = problemFor('bosh-init');
  assert.equal(ofCreateEnv?.name, 'dep/web/0');
  assert.match(ofCreateEnv?.next ?? '', /run up or create-env/u);
  assert.doesNotMatch(ofCreateEnv?.next ?? '', /bosh |cloud-check/u);
  assert.match(problemFor('lab')?.next ?? '', /^if no call is running, run bosh -d dep cloud-check/u);
});

test('a VM without a pod and without a disk has the creator of the others with its director id', () => {
  const other = claim({ labels: ofDirector('disk'), annotations: describedBy('bosh-init') });
  const [found] = problemsOf({ vmPods: [], vmSecrets: [createdSecret], claims: [other] });
  assert.doesNotMatch(found?.next ?? '', /cloud-check/u);
});

test('each state that needs the operator is one problem with its next step', () => {
  for (const [name, lists, problem, next] of cases) {
    const found = problemsOf(lists);
    assert.equal(found.length, 1, `${name}: ${JSON.stringify(found)}`);
    assert.match(found[0]?.problem ?? '', problem, name);
    assert.match(found[0]?.next ?? '', next, name);
  }
});

test('objects that are well, that start, or whose lists may not be read, are no problem', () => {
  const soon = { creationTimestamp: new Date(now - 60_000).toISOString() };
  assert.deepEqual(problemsOf({ vmPods: [vmPod(ready)], claims: [claim()] }), []);
  assert.deepEqual(problemsOf({ vmPods: [vmPod({ phase: 'Pending' }, soon)] }), []);
  assert.deepEqual(problemsOf({ claims: [claim(soon, { status: { phase: 'Pending' } })] }), []);
  assert.deepEqual(problemsOf({}), []);
  const secret = {
    metadata: {
      ...{ name: 'vm-1', uid: 's', creationTimestamp: longAgo, labels: kind('vm') },
      annotations: { [label('creation')]: 'done' },
    },
  };
  assert.deepEqual(problemsOf({ vmSecrets: [secret] }), [], 'without the right to list pods');
  const attached = claim({ annotations: { [label('attached-to')]: 'bosh/vm-1/pod-1' } });
  assert.deepEqual(
    problemsOf({ vmPods: [vmPod(ready)], claims: [attached] }),
    [],
    'without the right to list pods in the namespace of the disks',
  );
});
