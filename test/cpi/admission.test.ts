import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  admittedAttachment,
  admittedCopy,
  admittedSweeper,
  attachmentChanges,
  copyChanges,
} from '../support/admission-changes.ts';
import { cpiAccount as username, refusal } from '../support/admission-policy.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';

// The policies themselves run in test/cluster/admission.test.ts; these tests compare their expressions with
// the CPI's pods.
const namespace = 'bosh-disks';
const creation = (pod: Pod): string | undefined =>
  refusal({ operation: 'CREATE', resource: 'pods', username, object: pod });

test('the CPI makes an attachment, a sweeper, and the pod that binds a copy', () => {
  assert.equal(creation(admittedAttachment(namespace)), undefined);
  assert.equal(creation(admittedSweeper(namespace)), undefined);
  assert.equal(creation(admittedCopy(namespace)), undefined);
});

test('the CPI makes no other pod than these', () => {
  for (const [make, changes] of [
    [admittedAttachment, attachmentChanges],
    [admittedCopy, copyChanges],
  ] as const)
    for (const [what, change] of Object.entries(changes)) {
      const pod = make(namespace);
      change(pod);
      const message = creation(pod);
      assert.notEqual(message, undefined, what);
      assert.doesNotMatch(message ?? '', /accounts/u, what);
    }
});

test('the CPI connects to its pods', () => {
  for (const resource of ['pods/exec', 'pods/attach'])
    assert.equal(refusal({ operation: 'CONNECT', resource, username, object: {} }), undefined);
});

test('a controller takes a finalizer or an annotation of its own from a pod', () => {
  const oldObject = admittedAttachment(namespace);
  const { metadata } = oldObject;
  const before = {
    ...oldObject,
    metadata: {
      ...metadata,
      finalizers: ['foregroundDeletion'],
      annotations: { ...metadata.annotations, a: 'b' },
    },
  };
  const controller = 'system:serviceaccount:kube-system:generic-garbage-collector';
  const request = { operation: 'UPDATE', resource: 'pods', username: controller } as const;
  assert.equal(refusal({ ...request, oldObject: before, object: oldObject }), undefined);
});
