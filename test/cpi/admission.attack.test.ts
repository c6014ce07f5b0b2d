import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { admittedAttachment, admittedCopy, updates } from '../support/admission-changes.ts';
import { cpiAccount, refusal } from '../support/admission-policy.ts';

// The policies' own CEL runs on a real API server: test/cluster/admission.test.ts.
const namespace = 'bosh-disks';
/** A user with the role `edit` in that namespace. */
const username = 'developer';
const toCpiOnly = /only the accounts of the BOSH CPI/u;

function withImage(pod: Pod): Pod {
  const [container] = pod.spec.containers;
  assert.ok(container !== undefined);
  container.image = 'registry.invalid/evil:1';
  return pod;
}

const creation = (pod: Pod, by: string = username): string =>
  refusal({ operation: 'CREATE', resource: 'pods', username: by, object: pod }) ?? 'it is admitted';

test('an account with the role edit makes a privileged pod that looks like an attachment, with its own image', () => {
  assert.match(creation(withImage(admittedAttachment(namespace))), toCpiOnly);
  assert.match(creation(admittedAttachment(namespace)), toCpiOnly);
});

test('such an account has a controller make that pod, or names itself as the account of another namespace', () => {
  for (const by of [
    'system:serviceaccount:kube-system:replicaset-controller',
    'system:serviceaccount:bosh-disks:bosh-cpi',
    'system:serviceaccount:bosh:bosh-cpi2',
    'bosh-cpi',
  ])
    assert.match(creation(admittedAttachment(namespace), by), toCpiOnly);
});

test('such an account makes a pod that looks like one that binds a copy', () => {
  assert.match(creation(withImage(admittedCopy(namespace))), toCpiOnly);
  assert.match(creation(admittedCopy(namespace)), toCpiOnly);
});

test('an update gives an attachment another image, or a container for debugging, or has the CPI take it for another', () => {
  for (const by of [username, cpiAccount])
    for (const [what, change] of Object.entries(updates)) {
      const [oldObject, object] = [admittedAttachment(namespace), admittedAttachment(namespace)];
      change(object);
      const request = { operation: 'UPDATE', username: by, object, oldObject } as const;
      assert.match(refusal({ ...request, resource: 'pods' }) ?? `${what}: admitted`, /keeps/u);
    }
  const oldObject = admittedAttachment(namespace);
  const spec = { ...oldObject.spec, ephemeralContainers: [{ name: 'debug', image: 'i' }] };
  for (const resource of ['pods/ephemeralcontainers', 'pods/resize']) {
    const object = { ...oldObject, spec };
    assert.match(refusal({ operation: 'UPDATE', resource, username, object, oldObject }) ?? '', /keeps/u);
  }
});

test('an account reaches the ports of an attachment by a Service, or calls itself nothing', () => {
  const connect = { operation: 'CONNECT', object: { kind: 'ServiceProxyOptions' } } as const;
  assert.match(refusal({ ...connect, resource: 'services/proxy', username }) ?? 'admitted', toCpiOnly);
  assert.match(creation(admittedAttachment(namespace), ''), toCpiOnly);
});

test('an account with the role edit executes a command in an attachment, attaches to it or forwards its ports', () => {
  for (const kind of ['exec', 'attach', 'portforward', 'proxy']) {
    const object = { kind: `Pod${kind}Options`, container: 'hold', command: ['id'] };
    assert.match(
      refusal({ operation: 'CONNECT', resource: `pods/${kind}`, username, object }) ?? kind,
      toCpiOnly,
    );
  }
});
