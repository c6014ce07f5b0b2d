import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stored } from '../../../kubernetes/object.ts';
import { isProductError } from '../../../errors/product-error.ts';
import {
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../kubernetes/types/storage.ts';
import { annotation } from '../../objects/labels.ts';
import { type UpdatePlan, planUpdate } from './plan-update.ts';

const claim: Stored<PersistentVolumeClaim> = {
  metadata: { name: 'disk-1', namespace: 'n', uid: 'claim-uid', resourceVersion: '1' },
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

const storageClass = (name: string, defaultSince?: string): StorageClass => ({
  metadata: {
    name,
    creationTimestamp: defaultSince ?? '2026-01-01T00:00:00Z',
    ...(defaultSince !== undefined && { annotations: { [volumeAnnotations.defaultClass]: 'true' } }),
  },
  provisioner: 'driver.example',
});
const [fast, slow] = [storageClass('fast'), storageClass('slow')];
const [older, newer] = [
  storageClass('older', '2026-02-01T00:00:00Z'),
  storageClass('newer', '2026-03-01T00:00:00Z'),
];
const withoutClass = { ...properties, storageClass: undefined };
const madeWithout = {
  ...claim,
  metadata: { ...claim.metadata, annotations: { [annotation.defaultClass]: 'true' } },
};
const copyTo = (target: StorageClass): UpdatePlan => ({ kind: 'replace', source: fast, target });

for (const [name, plan, classes, given] of [
  [
    'names another class',
    copyTo(slow),
    [fast, slow],
    { properties: { ...properties, storageClass: 'slow' } },
  ],
  ['names a class no more', copyTo(older), [fast, older], { properties: withoutClass }],
  [
    'names a class no more, of two defaults',
    copyTo(newer),
    [newer, fast, older],
    { properties: withoutClass },
  ],
  [
    'names a class no more, of two defaults',
    copyTo(newer),
    [older, fast, newer],
    { properties: withoutClass },
  ],
  [
    'names a class no more where none is the default',
    { kind: 'keep' },
    [fast, slow],
    { properties: withoutClass },
  ],
  ['never named a class', { kind: 'keep' }, [fast, older], { claim: madeWithout, properties: withoutClass }],
  [
    'names a class for the first time',
    copyTo(slow),
    [fast, slow, older],
    {
      claim: madeWithout,
      properties: { ...properties, storageClass: 'slow' },
    },
  ],
] as const) {
  test(`a disk whose type ${name}: ${plan.kind} (${classes.map(({ metadata }) => metadata.name).join()})`, () => {
    assert.deepEqual(planUpdate({ claim, sizeMiB: 64, classes, ...given }), plan);
  });
}

const gold = { ...claim, spec: { ...claim.spec, volumeAttributesClassName: 'gold' } };
const goldNow = { ...gold, status: { ...gold.status, currentVolumeAttributesClassName: 'gold' } };
const silver = { ...properties, attributesClass: 'silver' };
for (const [name, asked, wanted, plan] of [
  ['another', goldNow, silver, { kind: 'change', grows: false, attributesClass: 'silver' }],
  ['none any more, with one in effect', goldNow, properties, copyTo(fast)],
  [
    'none any more, before it came into effect',
    gold,
    properties,
    {
      ...{ kind: 'change', grows: false, attributesClass: null },
    },
  ],
] as const) {
  test(`a disk whose type has ${name} as volume_attributes_class: ${plan.kind}`, () => {
    assert.deepEqual(planUpdate({ claim: asked, sizeMiB: 64, classes: [fast], properties: wanted }), plan);
  });
}

test('a disk whose type has another access mode is refused', () => {
  const alone = { ...properties, accessMode: 'ReadWriteOncePod' as const };
  assert.throws(
    () => planUpdate({ claim, sizeMiB: 64, classes: [fast], properties: alone }),
    (error) => isProductError(error, 'NOT_SUPPORTED') && error.message.includes('ReadWriteOncePod'),
  );
});
