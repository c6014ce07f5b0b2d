import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../../errors/product-error.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { planUpdate } from './plan-update.ts';

const claim: PersistentVolumeClaim = {
  metadata: { name: 'disk-1' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'fast',
    resources: { requests: { storage: '64Mi' } },
  },
  status: { phase: 'Bound', capacity: { storage: '64Mi' } },
};
const properties = {
  storageClass: 'fast',
  snapshotClass: undefined,
  attributesClass: undefined,
  accessMode: 'ReadWriteOnce' as const,
};

test('where classes cannot be listed, one change is tried and two at once are refused before anything is done', () => {
  const question = { claim, properties, classes: undefined };
  const gold = { ...properties, attributesClass: 'gold' };

  assert.deepEqual(planUpdate({ ...question, sizeMiB: 128 }), { kind: 'change', grows: true });
  assert.deepEqual(planUpdate({ ...question, sizeMiB: 64, properties: gold }), {
    ...{ kind: 'change', grows: false, attributesClass: 'gold' },
  });
  assert.throws(
    () => planUpdate({ ...question, sizeMiB: 128, properties: gold }),
    (error) => isProductError(error, 'NOT_SUPPORTED') && error.message.includes('grow'),
  );
});
