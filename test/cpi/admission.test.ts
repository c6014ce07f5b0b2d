import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { parseAllDocuments } from 'yaml';
import { parseConfig } from '../../src/cpi/config.ts';
import { attachmentPod } from '../../src/cpi/disk/attach/attachment-pod.ts';
import { consumerPod } from '../../src/cpi/disk/change/consumer-pod.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';

// The policy itself runs nowhere here: its expressions, of which CEL and JavaScript mean the same, are held to our pods.
interface Policy {
  readonly spec: {
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[];
        readonly resources: readonly string[];
      }[];
    };
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
  };
}

const file = new URL('../../manifests/admission/attachments-only.yaml', import.meta.url);
const [policyDocument] = parseAllDocuments(await readFile(file, 'utf8'));
assert.ok(policyDocument !== undefined);
const { spec } = policyDocument.toJS() as Policy;

/** What of CEL the policy uses (kubernetes.io: Common Expression Language in Kubernetes), as JavaScript. */
const asScript = (expression: string): string =>
  expression
    .replace(/has\(([\w.]+)\)/gu, '($1 !== undefined)')
    .replace(/('[^']+'|[\w.]+) in (\[[^\]]*\]|[\w.]+)/gu, 'isIn($1, $2)')
    .replace(/\.all\((\w), /gu, '.every(($1) => ')
    .replace(/\.size\(\)/gu, '.length')
    .replace(/\.matches\(('[^']*')\)/gu, '.match($1) !== null')
    .replace(/(object\.spec\.containers) \+ \(/u, '$1.concat(');

const isIn = (key: string, set: object): boolean => (Array.isArray(set) ? set.includes(key) : key in set);

/** Why the policy refuses a pod; undefined where it admits it or does not ask. */
function refusal(pod: Pod): string | undefined {
  const variables: Record<string, unknown> = {};
  const evaluate = (expression: string): unknown =>
    runInNewContext(asScript(expression), { object: pod, variables, isIn });
  if (spec.matchConditions.some(({ expression }) => evaluate(expression) === false)) return undefined;
  for (const { name, expression } of spec.variables) variables[name] = evaluate(expression);
  return spec.validations.find(({ expression }) => evaluate(expression) !== true)?.message;
}

const config = parseConfig({}, {});
const vmUid = '01234567-89ab-4cde-8f01-23456789abcd';
const vm: Pod = {
  metadata: { name: 'vm-a', namespace: 'bosh', uid: vmUid },
  spec: { containers: [{ name: 'bosh', image: 'i' }], tolerations: [{ key: 'x', operator: 'Exists' }] },
};
const attachment = (): Pod =>
  attachmentPod({
    ...{ diskCid: 'disk-1', namespace: 'bosh-disks', vm, nodeName: 'n', directorUuid: 'd' },
    kubeletRootDirectory: config.kubernetes.kubeletRootDirectory,
  });

test('an attachment, and the pod that binds a copy, are admitted', () => {
  assert.equal(refusal(attachment()), undefined);
  const copy = { claimName: 'disk-2', namespace: 'bosh-disks', source: undefined, directorUuid: 'd' };
  assert.equal(refusal(consumerPod(copy)), undefined);
});

test('a copy that does more than bind its own claim is no copy, and such an update is asked about', () => {
  const copy = consumerPod({
    claimName: 'disk-2',
    namespace: 'bosh-disks',
    source: undefined,
    directorUuid: 'd',
  });
  for (const change of [
    (pod: Pod) => void Object.assign(pod.spec, { ephemeralContainers: [{ name: 'debug', image: 'i' }] }),
    (pod: Pod) => void (first(pod).command = ['/bin/cat']),
    (pod: Pod) => setVolume(pod, 'disk', { persistentVolumeClaim: { claimName: 'disk-3' } }),
    (pod: Pod) => void (pod.metadata.name = 'bind-disk-3'),
  ]) {
    const pod = structuredClone(copy);
    change(pod);
    assert.notEqual(refusal(pod), undefined);
  }
  const asked = spec.matchConstraints.resourceRules.flatMap(({ operations, resources }) =>
    operations.flatMap((operation) => resources.map((resource) => `${operation} ${resource}`)),
  );
  assert.deepEqual(asked, ['CREATE pods', 'UPDATE pods/ephemeralcontainers']);
});

test('anything else is refused', () => {
  const changes: Record<string, (pod: Pod) => void> = {
    'no label of ours': (pod) => void (pod.metadata.labels = {}),
    'another kind': (pod) => void (pod.metadata.labels = { 'bosh.cloudfoundry.org/kind': 'vm' }),
    'a copy that is privileged': (pod) =>
      void (pod.metadata.labels = { ...pod.metadata.labels, 'bosh.cloudfoundry.org/kind': 'copy' }),
    'a container for debugging': (pod) =>
      void Object.assign(pod.spec, { ephemeralContainers: [{ name: 'debug', image: 'i' }] }),
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
    'one more volume': (pod) => pod.spec.volumes?.push({ name: 'more', hostPath: { path: '/' } }),
    'one more container': (pod) => pod.spec.containers.push({ name: 'hold', image: 'i' }),
    'another program': (pod) => void (first(pod).command = ['/bin/bash']),
    'an environment': (pod) => void (first(pod).env = [{ name: 'ENV', value: '/x' }]),
    'a hook': (pod) => void (first(pod).lifecycle = { preStop: { exec: { command: ['x'] } } }),
    'a token': (pod) => void (pod.spec.automountServiceAccountToken = true),
    'a node of its own choice': (pod) => void (pod.spec.nodeName = 'n'),
    'an owner': (pod) =>
      void (pod.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]),
  };
  for (const [what, change] of Object.entries(changes)) {
    const pod = attachment();
    change(pod);
    assert.notEqual(refusal(pod), undefined, what);
  }
});

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
