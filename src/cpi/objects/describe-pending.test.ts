import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resource } from '../../kubernetes/api.ts';
import type { EventRecord } from '../../kubernetes/describe-pod.ts';
import {
  events,
  networkPolicies,
  persistentVolumeClaims,
  pods,
  secrets,
  services,
  volumeSnapshots,
} from '../../kubernetes/resources.ts';
import type { WaitStatus } from '../../kubernetes/client/wait.ts';
import { describeClaim, describePendingDeletion } from './describe-pending.ts';
import { namespace, testCloud } from '../testing/test-cloud.ts';

const whole = ({ state, next }: WaitStatus): string => `${state}; ${next}`;

interface Row {
  readonly resource: Resource;
  readonly finalizers?: readonly string[];
  /** Kind and message of an event. */
  readonly event?: readonly [string, string];
  readonly says: string;
}

const rows: readonly Row[] = [
  {
    resource: persistentVolumeClaims,
    finalizers: ['kubernetes.io/pvc-protection'],
    says: 'held by its finalizers kubernetes.io/pvc-protection; a pod still uses the claim: find it with kubectl describe pvc, and end it, then repeat the call',
  },
  {
    resource: persistentVolumeClaims,
    finalizers: ['snapshot.storage.kubernetes.io/pvc-as-source-protection'],
    event: ['PersistentVolumeClaim', 'the snapshot takes long'],
    says: 'held by its finalizers snapshot.storage.kubernetes.io/pvc-as-source-protection; events: Trouble: the snapshot takes long; a snapshot of it is being taken: see kubectl get volumesnapshots, then repeat the call',
  },
  {
    resource: services,
    finalizers: ['service.kubernetes.io/load-balancer-cleanup'],
    event: ['Service', 'quota of addresses'],
    says: 'held by its finalizers service.kubernetes.io/load-balancer-cleanup; events: Trouble: quota of addresses; check that the controller of its load balancer runs, and read its log, then repeat the call',
  },
  {
    resource: secrets,
    finalizers: ['example.com/backup'],
    says: 'held by its finalizers example.com/backup; neither BOSH nor Kubernetes set these: check that the controller that set them runs; if it no longer exists, remove them (kubectl edit secrets object-3 -n bosh), then repeat the call',
  },
  {
    resource: volumeSnapshots,
    finalizers: ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'],
    event: ['VolumeSnapshot', 'the backend is away'],
    says: 'held by its finalizers snapshot.storage.kubernetes.io/volumesnapshot-bound-protection; events: Trouble: the backend is away; check that the snapshot controller and the snapshotter of its driver run, then repeat the call',
  },
  {
    resource: volumeSnapshots,
    finalizers: ['snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection'],
    says: 'held by its finalizers snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection; a disk is being made from it: see kubectl get pvc, then repeat the call',
  },
  {
    resource: networkPolicies,
    says: 'it still exists; check that its API server and controllers run, then repeat the call',
  },
];

test('why an object does not go, and what to do: finalizers, events, a next step', async (t) => {
  const { cloud, api } = await testCloud(t);
  for (const [index, { resource, finalizers = [], event, says }] of rows.entries()) {
    const name = `object-${index}`;
    if (event !== undefined) {
      await api.create<EventRecord>(events, {
        metadata: { name: `${name}.1`, namespace },
        involvedObject: { kind: event[0], namespace, name },
        reason: 'Trouble',
        message: event[1],
      });
    }
    const last = { metadata: { name, namespace, finalizers: [...finalizers] } };
    assert.equal(whole(await describePendingDeletion(cloud, { resource, namespace, name }, last)), says);
  }
});

test('a pod whose jobs have ended and that others hold: their finalizers, and no kubelet', async (t) => {
  const { cloud } = await testCloud(t);
  const held = { resource: pods, namespace, name: 'vm-1' };
  const metadata = { name: 'vm-1', namespace, finalizers: ['example.com/audit'] };
  assert.match(
    whole(await describePendingDeletion(cloud, held, { metadata })),
    /held by its finalizers example\.com\/audit; neither BOSH nor Kubernetes .*kubectl edit pods vm-1 -n /u,
  );
  const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  const status = { containerStatuses: [{ name: 'bosh', state }] };
  assert.match(
    whole(await describePendingDeletion(cloud, held, { metadata, status } as never)),
    /kubelet of its node runs/u,
  );
});

test('what was asked of a claim and did not come: its events, or that there are none', async (t) => {
  const { cloud, api } = await testCloud(t);
  const claim = { namespace, name: 'disk-1' };
  const next = 'check that the resizer of its driver runs';
  assert.equal(
    whole(await describeClaim(cloud, claim, next)),
    `nothing was reported about it; ${next}, then repeat the call`,
  );
  await api.create<EventRecord>(events, {
    metadata: { name: 'disk-1.1', namespace },
    involvedObject: { kind: 'PersistentVolumeClaim', ...claim },
    reason: 'VolumeResizeFailed',
    message: 'no room',
  });
  assert.equal(
    whole(await describeClaim(cloud, claim, next)),
    `VolumeResizeFailed: no room; ${next}, then repeat the call`,
  );
});
