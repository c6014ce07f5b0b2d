import assert from 'node:assert/strict';
import { parseConfig } from '../../src/cpi/config/config.ts';
import {
  type AttachmentPlan,
  buildAttachmentPod,
  buildSweeperPod,
} from '../../src/cpi/disk/attach/attachment-pod-spec.ts';
import { consumerPod } from '../../src/cpi/disk/update/replace-disk.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';

type Change = (pod: Pod) => void;

function planIn(namespace: string): Omit<AttachmentPlan, 'diskCid'> {
  const vm: AttachmentPlan['vm'] = {
    metadata: { name: 'vm-a', namespace: 'bosh', uid: '01234567-89ab-4cde-8f01-23456789abcd' },
    spec: {
      containers: [{ name: 'bosh', image: 'registry.invalid/stemcell:1' }],
      tolerations: [{ key: 'x', operator: 'Exists' }],
    },
  };
  const { kubeletRootDirectory } = parseConfig({}, {}).kubernetes;
  return { namespace, vm, nodeName: 'n', directorUuid: 'd', kubeletRootDirectory };
}

/** Returns an attachment pod as the CPI creates it in the namespace of the disks. */
export const admittedAttachment = (namespace: string): Pod =>
  buildAttachmentPod({ ...planIn(namespace), diskCid: 'disk-1' });

/** Returns the pod with which delete_vm removes mounts of attachment pods that are left in a VM's hub. */
export const admittedSweeper = (namespace: string): Pod => buildSweeperPod(planIn(namespace));

/** Returns the pod with which update_disk binds a replacement claim there. */
export const admittedCopy = (namespace: string): Pod =>
  consumerPod({ claimName: 'disk-2', namespace, source: undefined, directorUuid: 'd' });

const debugContainer: Change = (pod) =>
  void Object.assign(pod.spec, { ephemeralContainers: [{ name: 'debug', image: 'i' }] });

const probe: Change = (pod) =>
  void Object.assign(first(pod), { livenessProbe: { exec: { command: ['/bin/sh', '-c', 'id'] } } });

/** Changes that turn the pod of a replacement claim into another kind of pod, each by itself. */
export const copyChanges: Readonly<Record<string, Change>> = {
  'a container for debugging': debugContainer,
  'a program': (pod) => void (first(pod).command = ['/bin/cat']),
  'another image': (pod) => void (first(pod).image = 'registry.invalid/evil:1'),
  'a probe': probe,
  'a token': (pod) => void (pod.spec.automountServiceAccountToken = true),
  "another disk's claim": (pod) => setVolume(pod, 'disk', { persistentVolumeClaim: { claimName: 'disk-3' } }),
  'another name': (pod) => void (pod.metadata.name = 'bind-disk-3'),
  "the node's network": (pod) => void (pod.spec.hostNetwork = true),
  "the node's processes": (pod) => void (pod.spec.hostPID = true),
  'a privileged container': (pod) => void (first(pod).securityContext = { privileged: true }),
  'a folder of the node': (pod) =>
    void pod.spec.volumes?.push({ name: 'more', hostPath: { path: '/', type: 'Directory' } }),
};

/** Changes that turn an attachment pod into another kind of pod, each by itself. */
export const attachmentChanges: Readonly<Record<string, Change>> = {
  'no label of ours': (pod) => void (pod.metadata.labels = {}),
  'another kind': (pod) => void (pod.metadata.labels = { 'bosh.cloudfoundry.org/kind': 'vm' }),
  'a copy that is privileged': (pod) =>
    void (pod.metadata.labels = { ...pod.metadata.labels, 'bosh.cloudfoundry.org/kind': 'copy' }),
  'a container for debugging': debugContainer,
  'another name': (pod) => void (pod.metadata.name = 'attach-disk-2'),
  'a uid that leads out': (pod) =>
    void (pod.metadata.annotations = { 'bosh.cloudfoundry.org/vm-uid': '../../..' }),
  "another disk's claim": (pod) =>
    setVolume(pod, 'volume', { persistentVolumeClaim: { claimName: 'disk-2' } }),
  'the root of the node': (pod) => setVolume(pod, 'disks', { hostPath: { path: '/', type: 'Directory' } }),
  "another VM's hub": (pod) =>
    setVolume(pod, 'vm-hub', {
      hostPath: {
        path: '/var/lib/kubelet/pods/other/volumes/kubernetes.io~empty-dir/hub',
        type: 'Directory',
      },
    }),
  'one more volume': (pod) => void pod.spec.volumes?.push({ name: 'more', hostPath: { path: '/' } }),
  'one more container': (pod) => void pod.spec.containers.push({ name: 'more', image: 'i' }),
  'another program': (pod) => void (first(pod).command = ['/bin/bash']),
  'another script': (pod) => {
    const container = first(pod);
    container.command = container.command?.map((word, index) => (index === 2 ? `${word}:\n` : word)) ?? [];
  },
  'a probe': probe,
  'a volume over its programs': (pod) =>
    void first(pod).volumeMounts?.push({ name: 'volume', mountPath: '/bin' }),
  "the VM's hub at a second path": (pod) =>
    void first(pod).volumeMounts?.push({ name: 'vm-hub', mountPath: '/vm/hub' }),
  'a folder of a volume in its place': (pod) => {
    const container = first(pod);
    container.volumeMounts = (container.volumeMounts ?? []).map((mount) => ({ ...mount, subPath: 'x' }));
  },
  'an environment': (pod) => void (first(pod).env = [{ name: 'ENV', value: '/x' }]),
  'a hook': (pod) => void (first(pod).lifecycle = { preStop: { exec: { command: ['x'] } } }),
  'a token': (pod) => void (pod.spec.automountServiceAccountToken = true),
  'a node of its own choice': (pod) => void (pod.spec.nodeName = 'n'),
  'an owner': (pod) =>
    void (pod.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]),
};

/** Changes to a pod that the API server allows in an update and the policy does not, each by itself. */
export const updates: Readonly<Record<string, Change>> = {
  'another image': (pod) => void (first(pod).image = 'registry.invalid/evil:1'),
  'an end after a second': (pod) => void Object.assign(pod.spec, { activeDeadlineSeconds: 1 }),
  "another VM's uid": (pod) =>
    void (pod.metadata.annotations = {
      ...pod.metadata.annotations,
      'bosh.cloudfoundry.org/vm-uid': '99999999-89ab-4cde-8f01-23456789abcd',
    }),
  'no annotation': (pod) => void (pod.metadata.annotations = {}),
  'one more annotation of ours': (pod) =>
    void (pod.metadata.annotations = {
      ...pod.metadata.annotations,
      'bosh.cloudfoundry.org/takes-over': 'true',
    }),
  "another disk's label": (pod) =>
    void (pod.metadata.labels = { ...pod.metadata.labels, 'bosh.cloudfoundry.org/disk-id': 'disk-2' }),
  'leave for an autoscaler to evict it': (pod) =>
    void (pod.metadata.annotations = {
      ...pod.metadata.annotations,
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true',
    }),
  'a finalizer': (pod) => void (pod.metadata.finalizers = ['example.com/never']),
  'an owner': (pod) =>
    void (pod.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]),
};

function first({ spec: { containers } }: Pod): Pod['spec']['containers'][number] {
  const [container] = containers;
  assert.ok(container !== undefined);
  return container;
}

function setVolume(pod: Pod, name: string, source: object): void {
  pod.spec.volumes = (pod.spec.volumes ?? []).map((volume) =>
    volume.name === name ? { name, ...source } : volume,
  );
}
