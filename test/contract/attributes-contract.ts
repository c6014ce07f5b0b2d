import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/types/storage.ts';
import { until } from '../support/until.ts';
import type { VolumeSubject } from './volume-contract.ts';

export interface AttributesSubject extends VolumeSubject {
  /** A VolumeAttributesClass that the driver can apply to a volume, and one whose parameters it rejects. */
  readonly attributes: { readonly possible: string; readonly impossible: string };
}

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']>;

/**
 * The behaviour of a claim whose VolumeAttributesClass changes (kubernetes-csi/external-resizer
 * pkg/modifycontroller, kubernetes.io: Volume Attributes Classes).
 */
export function attributesContract(makeSubject: () => Promise<AttributesSubject>): void {
  let subject: AttributesSubject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const name = 'modified';
  const claim = { resource: persistentVolumeClaims, name };
  const seen = (what: string, is: (status: ClaimStatus) => boolean): Promise<unknown> => {
    const { api, namespace } = subject;
    return until(what, async () => {
      const { status = {} } = await api.get<PersistentVolumeClaim>({ ...claim, namespace });
      return is(status) ? status : undefined;
    });
  };
  const bringTo = (volumeAttributesClassName: string): Promise<unknown> =>
    subject.api.patch({ ...claim, namespace: subject.namespace }, { spec: { volumeAttributesClassName } });

  test('external-resizer: attributes that a driver knows are the current ones, others are Infeasible and can be reverted', async () => {
    const { api, namespace, storageClassName, attributes } = subject;
    await api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
      metadata: { namespace, name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName },
    });
    await api.create<Pod>(pods, {
      metadata: { namespace, name },
      spec: {
        containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }],
        volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: name } }],
      },
    });
    await seen('the claim to be bound', ({ phase }) => phase === 'Bound');

    await bringTo(attributes.possible);
    const isPossible = ({
      currentVolumeAttributesClassName: current,
      modifyVolumeStatus,
    }: ClaimStatus): boolean => current === attributes.possible && modifyVolumeStatus === undefined;
    await seen('the attributes to be current', isPossible);

    await bringTo(attributes.impossible);
    await seen(
      'the attributes to be infeasible',
      ({ currentVolumeAttributesClassName: current, modifyVolumeStatus: status }) =>
        status?.status === 'Infeasible' &&
        status.targetVolumeAttributesClassName === attributes.impossible &&
        current === attributes.possible,
    );
    assert.equal((await api.get<PersistentVolumeClaim>({ ...claim, namespace })).status?.phase, 'Bound');

    await bringTo(attributes.possible);
    await seen('the former attributes to be taken back', isPossible);
  });
}
