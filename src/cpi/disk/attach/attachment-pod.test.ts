import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { plannedPod } from '../../testing/planned-pod.ts';
import { buildAttachmentPod } from './attachment-pod-spec.ts';
import { holdScript } from './scripts/hold.ts';

function attachmentTo({ metadata, ...rest }: Pod): Pod {
  const vm = { ...rest, metadata: { ...metadata, uid: 'vm-uid' } };
  return buildAttachmentPod({
    ...{ diskCid: 'disk-0123', namespace: 'disks', nodeName: 'node-1', directorUuid: 'director', vm },
    kubeletRootDirectory: '/var/lib/kubelet',
  });
}

const hub = '/var/lib/kubelet/pods/vm-uid/volumes/kubernetes.io~empty-dir/hub';
const holder = {
  name: 'hold',
  image: 'i',
  command: ['/bin/sh', '-c', holdScript, 'hold', 'disk-0123', 'vm-uid'],
  resources: { requests: { cpu: '10m', memory: '32Mi', 'ephemeral-storage': '16Mi' } },
  securityContext: { privileged: true, runAsUser: 0 },
  terminationMessagePolicy: 'FallbackToLogsOnError',
  volumeMounts: [
    { name: 'volume', mountPath: '/volume' },
    { name: 'scratch', mountPath: '/scratch' },
    { name: 'vm-hub', mountPath: '/hub', mountPropagation: 'Bidirectional' },
  ],
};
/** On a cordoned node and under pressure the VM stays, and so does its disk. */
const stays = [
  ...['not-ready', 'unreachable'].map((name) => [name, 'NoExecute'] as const),
  ...['unschedulable', 'disk-pressure', 'memory-pressure', 'pid-pressure'].map(
    (name) => [name, 'NoSchedule'] as const,
  ),
].map(([name, effect]) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect }));

test("the pod of an attachment, whole: what is not here is Kubernetes' default", () => {
  assert.deepEqual(attachmentTo(plannedPod()), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'attach-disk-0123',
      namespace: 'disks',
      labels: {
        'bosh.cloudfoundry.org/layout': '1',
        'bosh.cloudfoundry.org/kind': 'attachment',
        'bosh.cloudfoundry.org/director-id': 'director',
        'bosh.cloudfoundry.org/disk-id': 'disk-0123',
        'bosh.cloudfoundry.org/vm-id': 'vm-a',
        'bosh.cloudfoundry.org/agent-id': 'a',
      },
      annotations: {
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
        'bosh.cloudfoundry.org/vm-uid': 'vm-uid',
        'bosh.cloudfoundry.org/vm-namespace': 'n',
      },
    },
    spec: {
      restartPolicy: 'Always',
      hostNetwork: true,
      hostPID: true,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 31_536_000,
      tolerations: stays,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }] },
            ],
          },
        },
      },
      containers: [holder],
      volumes: [
        { name: 'volume', persistentVolumeClaim: { claimName: 'disk-0123' } },
        { name: 'disks', hostPath: { path: `${hub}/disks`, type: 'Directory' } },
        { name: 'vm-hub', hostPath: { path: hub, type: 'Directory' } },
        { name: 'scratch', emptyDir: {} },
      ],
    },
  });
});

test("the VM's priority, pull secrets and tolerations, each once", () => {
  const vm = plannedPod({
    properties: {
      priority_class: 'high',
      image_pull_secrets: ['registry'],
      tolerations: [
        { key: 'dedicated', value: 'bosh', effect: 'NoSchedule' },
        { key: 'dedicated', value: 'disks', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
      ],
    },
  });
  const { spec } = attachmentTo(vm);
  assert.equal(spec.priorityClassName, 'high');
  assert.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }]);
  const dedicated = ['bosh', 'disks'].map((value) => ({
    ...{ key: 'dedicated', operator: 'Equal', value, effect: 'NoSchedule' },
  }));
  assert.equal(spec.tolerations?.length, stays.length + dedicated.length);
  assert.deepEqual(new Set(spec.tolerations), new Set([...stays, ...dedicated]));
});

test('never tolerates the taint of a node that an operator has declared lost, nor all taints', () => {
  const vm = plannedPod();
  vm.spec.tolerations?.push(
    { key: 'node.kubernetes.io/out-of-service', operator: 'Exists' },
    { key: 'node.kubernetes.io/out-of-service', operator: 'Exists', effect: 'NoExecute' },
    { operator: 'Exists' },
  );
  assert.deepEqual(new Set(attachmentTo(vm).spec.tolerations), new Set(stays));
});
