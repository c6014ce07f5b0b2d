import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { decideBinding } from './binding-decision.ts';

const claim = (
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  annotations = {},
): PersistentVolumeClaim => ({
  metadata: { name: 'disk', namespace: 'bosh', uid: 'uid-1', annotations },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '100Mi' } },
    storageClassName: 'local',
    ...spec,
  },
});
const volume = (name: string, spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume => ({
  metadata: { name },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: '', ...spec },
  status: { phase: 'Available' },
});
const local = (volumeBindingMode: StorageClass['volumeBindingMode']): StorageClass => ({
  metadata: { name: 'local' },
  provisioner: localProvisioner,
  ...(volumeBindingMode !== undefined && { volumeBindingMode }),
});

function decide(
  asking: PersistentVolumeClaim,
  volumes: PersistentVolume[],
  storageClass?: StorageClass,
): string {
  const decision = decideBinding({ claim: asking, volumes, storageClass });
  switch (decision.kind) {
    case 'bind':
      return `bind ${decision.volume.metadata.name}`;
    case 'provision':
      return `provision on ${decision.nodeName ?? 'any'}`;
    default:
      return `wait ${decision.news?.reason ?? 'silently'}`;
  }
}

suite('the decision for a claim', () => {
  test('provisions on the selected node if the class waits for the first consumer', () => {
    const waiting = local('WaitForFirstConsumer');

    assert.equal(decide(claim(), [], waiting), 'wait WaitForFirstConsumer');
    assert.equal(
      decide(claim({}, { [volumeAnnotations.selectedNode]: 'n1' }), [], waiting),
      'provision on n1',
    );
  });

  test('provisions on any node if the class is immediate', () => {
    assert.equal(decide(claim(), [], local('Immediate')), 'provision on any');
  });

  test('binds the smallest static volume that fits', () => {
    const asking = claim({ storageClassName: '' });
    const volumes = [
      volume('big'),
      volume('small', { capacity: { storage: '50Mi' } }),
      volume('right', { capacity: { storage: '100Mi' } }),
      volume('other-class', { capacity: { storage: '100Mi' }, storageClassName: 'x' }),
      volume('other-mode', { capacity: { storage: '100Mi' }, accessModes: ['ReadOnlyMany'] }),
      volume('taken', {
        capacity: { storage: '100Mi' },
        claimRef: { namespace: 'bosh', name: 'z', uid: 'u' },
      }),
    ];

    assert.equal(decide(asking, volumes), 'bind right');
    assert.equal(
      decide(asking, [{ ...volume('released'), status: { phase: 'Released' } }]),
      'wait FailedBinding',
    );
    assert.equal(decide(asking, []), 'wait FailedBinding');
  });

  test('prefers a volume that is reserved for the claim, unless it does not fit', () => {
    const asking = claim({ storageClassName: '' });
    const reserved = (more = {}): PersistentVolume =>
      volume('mine', { claimRef: { namespace: 'bosh', name: 'disk' }, ...more });

    assert.equal(decide(asking, [volume('a'), reserved()]), 'bind mine');
    assert.equal(decide(asking, [reserved({ capacity: { storage: '1Mi' } })]), 'wait VolumeMismatch');
    const ofAnother = volume('mine', { claimRef: { namespace: 'bosh', name: 'disk', uid: 'uid-0' } });
    assert.equal(decide(asking, [ofAnother]), 'wait FailedBinding');
  });

  test('continues an incomplete binding with any class', () => {
    const ownVolume = volume('pvc-uid-1', {
      storageClassName: 'local',
      claimRef: { namespace: 'bosh', name: 'disk', uid: 'uid-1' },
    });

    assert.equal(decide(claim(), [ownVolume], local('WaitForFirstConsumer')), 'bind pvc-uid-1');
  });

  test('binds a claim only to the volume that it names', () => {
    const asking = claim({ storageClassName: '', volumeName: 'v' });
    const taken = volume('v', { claimRef: { namespace: 'bosh', name: 'other', uid: 'u' } });

    assert.equal(decide(asking, [volume('a'), volume('v')]), 'bind v');
    assert.equal(decide(asking, [volume('a')]), 'wait silently');
    assert.equal(decide(asking, [taken]), 'wait FailedBinding');
  });

  test('gives a reason if it cannot provision', () => {
    assert.equal(decide(claim(), []), 'wait ProvisioningFailed');
    assert.equal(
      decide(claim({ accessModes: ['ReadWriteMany'] }), [], local('Immediate')),
      'wait ProvisioningFailed',
    );
    assert.equal(decide(claim({ volumeMode: 'Block' }), [], local('Immediate')), 'wait ProvisioningFailed');
    assert.equal(
      decide(claim(), [], { ...local('Immediate'), provisioner: 'x.example' }),
      'wait ExternalProvisioning',
    );
  });
});
