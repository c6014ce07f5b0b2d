import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { ObjectReference } from '../../src/kubernetes/api.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttributesClasses,
} from '../../src/kubernetes/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttributesClass,
} from '../../src/kubernetes/types/storage.ts';
import type { Subject } from './subject.ts';

/**
 * Rules that the server itself enforces for claims: pkg/apis/core/validation (ValidatePersistentVolumeClaim
 * and its update), plugin/pkg/admission/storage/persistentvolume/resize, pkg/apis/storage/validation. Volumes
 * here are static ones, which need no provisioner.
 */
export function storageContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  /** Cluster-scoped objects: they are not deleted with the namespace. */
  const clusterWide: ObjectReference[] = [];
  after(async () => {
    for (const reference of clusterWide) await subject.api.delete(reference);
    await subject.end();
  });

  const own = (name: string): string => `${subject.namespace}-${name}`;
  const claim = (name: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
    metadata: { namespace: subject.namespace, name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: own('nobody'),
      ...spec,
    },
  });
  const referenceOf = (name: string): ObjectReference => ({
    resource: persistentVolumeClaims,
    namespace: subject.namespace,
    name,
  });
  const size = (storage: string): unknown => ({ spec: { resources: { requests: { storage } } } });
  const isInvalid = (pattern: RegExp) => (error: unknown) => {
    assert.ok(isApiError(error, 422, 'Invalid'), String(error));
    assert.match(error.message, pattern);
    return true;
  };

  /** Creates a claim that is bound to a static volume of a class without a provisioner. */
  async function boundClaim(name: string, allowVolumeExpansion: boolean): Promise<ObjectReference> {
    const { api, namespace } = subject;
    const storageClassName = own(name);
    const storageClass: StorageClass = {
      metadata: { name: storageClassName },
      provisioner: 'kubernetes.io/no-provisioner',
      allowVolumeExpansion,
    };
    await api.create(storageClasses, storageClass);
    clusterWide.push({ resource: storageClasses, name: storageClassName });
    const volume: PersistentVolume = {
      metadata: { name: storageClassName },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName,
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: '/nowhere' },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name },
      },
    };
    await api.create(persistentVolumes, volume);
    clusterWide.push({ resource: persistentVolumes, name: storageClassName });
    await api.create(persistentVolumeClaims, claim(name, { storageClassName, volumeName: storageClassName }));
    const reference = referenceOf(name);
    // the status that a binder would also write, if there is one
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
    await api.patch(reference, { status }, { subresource: 'status' });
    return reference;
  }

  test('dataSource and dataSourceRef are copied to each other', async () => {
    const source = { kind: 'PersistentVolumeClaim', name: 'source' };
    const { api } = subject;
    const made = await api.create(persistentVolumeClaims, claim('by-source', { dataSource: source }));
    assert.equal(made.spec.dataSourceRef?.name, 'source');
    const other = await api.create(persistentVolumeClaims, claim('by-ref', { dataSourceRef: source }));
    assert.equal(other.spec.dataSource?.name, 'source');
    await assert.rejects(
      api.patch(referenceOf('by-source'), { spec: { dataSource: { name: 'another' } } }),
      isInvalid(/immutable|must match/u),
    );
    const two = { dataSource: source, dataSourceRef: { ...source, name: 'another' } };
    await assert.rejects(api.create(persistentVolumeClaims, claim('two', two)), isInvalid(/must match/u));
    const dropped = claim('dropped', { dataSource: { kind: 'Pod', name: 'a' } });
    assert.equal((await api.create(persistentVolumeClaims, dropped)).spec.dataSource, undefined);
    const pod = { dataSourceRef: { kind: 'Pod', name: 'a' } };
    await assert.rejects(
      api.create(persistentVolumeClaims, claim('pod', pod)),
      isInvalid(/must be 'PersistentVolumeClaim' when referencing the default apiGroup/u),
    );
  });

  test('ReadWriteOncePod cannot be combined with another access mode', async () => {
    const both = claim('both', { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] });
    await assert.rejects(
      subject.api.create(persistentVolumeClaims, both),
      isInvalid(/may not use ReadWriteOncePod with other access modes/u),
    );
  });

  test('an unbound claim keeps its size', async () => {
    const { api } = subject;
    await api.create(persistentVolumeClaims, claim('pending'));
    await assert.rejects(
      api.patch(referenceOf('pending'), size('2Gi')),
      isInvalid(/spec is immutable after creation except resources.requests/u),
    );
  });

  test('a bound claim grows if its class allows expansion', async () => {
    const grown = await subject.api.patch<PersistentVolumeClaim>(
      await boundClaim('grows', true),
      size('2Gi'),
    );
    assert.equal(grown.spec.resources?.requests?.['storage'], '2Gi');
    assert.equal(grown.status?.capacity?.['storage'], '1Gi');
  });

  test('a bound claim of a class without expansion cannot grow: 403', async () => {
    await assert.rejects(subject.api.patch(await boundClaim('fixed', false), size('2Gi')), (error) => {
      assert.ok(isApiError(error, 403, 'Forbidden'), String(error));
      assert.match(error.message, /only dynamically provisioned pvc can be resized/u);
      return true;
    });
  });

  test('a claim does not shrink below the capacity of its volume, and a growth can be reverted down to it', async () => {
    const { api } = subject;
    const reference = await boundClaim('shrinks', true);
    await assert.rejects(
      api.patch(reference, size('512Mi')),
      isInvalid(/spec.resources.requests.storage: Forbidden: field can not be less than status.capacity/u),
    );
    await api.patch(reference, size('3Gi'));
    await api.patch(reference, size('2Gi'));
    await assert.rejects(api.patch(reference, size('1Gi')), isInvalid(/status.capacity/u));
  });

  test('a VolumeAttributesClass has parameters, which cannot change', async () => {
    const { api } = subject;
    const name = own('attributes');
    const empty: VolumeAttributesClass = { metadata: { name }, driverName: 'nobody.example' };
    await assert.rejects(
      api.create(volumeAttributesClasses, empty),
      isInvalid(/parameters: Required value: must contain at least one key\/value pair/u),
    );
    await api.create(volumeAttributesClasses, { ...empty, parameters: { iops: '3000' } });
    const reference = { resource: volumeAttributesClasses, name };
    await assert.rejects(
      api.patch(reference, { parameters: { iops: '4000' } }),
      isInvalid(/parameters: Forbidden: updates to parameters are forbidden/u),
    );
    await assert.rejects(
      api.patch(reference, { driverName: 'other.example' }),
      isInvalid(/driverName: Forbidden: updates to driverName are forbidden/u),
    );
    await api.delete(reference);
  });

  test('a bound claim accepts another VolumeAttributesClass, and cannot drop it once it is in effect', async () => {
    const { api } = subject;
    const reference = await boundClaim('attributes', false);
    const wish = (name: string | null): Promise<PersistentVolumeClaim> =>
      api.patch(reference, { spec: { volumeAttributesClassName: name } });
    assert.equal((await wish(own('gold'))).spec.volumeAttributesClassName, own('gold'));
    assert.equal((await wish(null)).spec.volumeAttributesClassName, undefined);
    await wish(own('gold'));
    const status = { currentVolumeAttributesClassName: own('gold') };
    await api.patch(reference, { status }, { subresource: 'status' });
    await assert.rejects(wish(null), isInvalid(/volumeAttributesClassName: Forbidden: update to nil/u));
    await wish(own('silver'));
  });
}
