import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { ObjectReference, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  AccessMode,
  PersistentVolumeClaim,
} from '../../src/kubernetes/types/storage.ts';
import type { Subject } from './subject.ts';

export interface VolumeSubject extends Subject {
  /**
   * A class with allowVolumeExpansion and WaitForFirstConsumer whose driver can clone volumes and take
   * snapshots.
   */
  readonly storageClassName: string;
}

const image = 'registry.k8s.io/pause:3.10';

/**
 * The behaviour of a cluster's storage controllers, with any driver: pkg/controller/volume (persistentvolume,
 * pvcprotection), the scheduler's plugins VolumeBinding and VolumeRestrictions,
 * kubernetes-csi/external-provisioner, -resizer and -snapshotter.
 */
export function volumeContract(makeSubject: () => Promise<VolumeSubject>): void {
  let subject: VolumeSubject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const at = (resource: Resource, name: string): ObjectReference => ({
    resource,
    namespace: subject.namespace,
    name,
  });

  async function find<T extends KubernetesObject>(resource: Resource, name: string): Promise<T | undefined> {
    try {
      return await subject.api.get<T>(at(resource, name));
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  }

  /** Polls without a limit: the deadline of the test ends it. */
  async function until<T>(condition: () => Promise<T | undefined | false>): Promise<T> {
    for (;;) {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const claim = (name: string): Promise<PersistentVolumeClaim | undefined> =>
    find(persistentVolumeClaims, name);

  async function createClaim(
    name: string,
    spec: Partial<PersistentVolumeClaim['spec']> = {},
    mode: AccessMode = 'ReadWriteOnce',
  ): Promise<void> {
    await subject.api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
      metadata: { namespace: subject.namespace, name },
      spec: {
        accessModes: [mode],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: subject.storageClassName,
        ...spec,
      },
    });
  }

  /** Creates a pod, which need not run: its node is enough to bind a claim. */
  async function createPod(name: string, claimName: string): Promise<void> {
    await subject.api.create<Pod>(pods, {
      metadata: { namespace: subject.namespace, name },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'main', image }],
        volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
      },
    });
  }

  const isBound = async (name: string): Promise<boolean> => (await claim(name))?.status?.phase === 'Bound';
  const isDeleted = async (resource: Resource, name: string): Promise<boolean> =>
    (await find(resource, name)) === undefined;

  async function removePod(name: string): Promise<void> {
    await subject.api.delete(at(pods, name));
    await until(() => isDeleted(pods, name));
  }

  async function boundClaim(name: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): Promise<void> {
    await createClaim(name, spec);
    await createPod(`use-${name}`, name);
    await until(() => isBound(name));
    await removePod(`use-${name}`);
  }

  test('persistentvolume: a claim waits for its first consumer, is bound for it, and stays while it is used', async () => {
    await createClaim('waits');
    assert.equal((await claim('waits'))?.status?.phase, 'Pending');
    await createPod('consumer', 'waits');
    await until(() => isBound('waits'));
    const bound = await claim('waits');
    assert.equal(typeof bound?.metadata.annotations?.['volume.kubernetes.io/selected-node'], 'string');
    await until(async () => (await find<Pod>(pods, 'consumer'))?.spec.nodeName);

    await subject.api.delete(at(persistentVolumeClaims, 'waits'));
    assert.notEqual((await claim('waits'))?.metadata.deletionTimestamp, undefined);
    await removePod('consumer');
    await until(() => isDeleted(persistentVolumeClaims, 'waits'));
  });

  test('external-resizer: a bound claim gets its new size in its status or at the next mount', async () => {
    await boundClaim('grows');
    const spec = { resources: { requests: { storage: '2Gi' } } };
    await subject.api.patch(at(persistentVolumeClaims, 'grows'), { spec });
    await until(async () => {
      const { capacity = {}, conditions = [] } = (await claim('grows'))?.status ?? {};
      return (
        capacity['storage'] === '2Gi' || conditions.some(({ type }) => type === 'FileSystemResizePending')
      );
    });
  });

  test('external-provisioner: a clone is bound, and its source may be deleted then', async () => {
    await boundClaim('original');
    await boundClaim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'original' } });
    await subject.api.delete(at(persistentVolumeClaims, 'original'));
    await until(() => isDeleted(persistentVolumeClaims, 'original'));
    assert.equal(await isBound('clone'), true);
  });

  test('external-snapshotter: a snapshot gets ready, outlives its claim, is restored and deleted', async () => {
    await boundClaim('source');
    await subject.api.create<VolumeSnapshot>(volumeSnapshots, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { namespace: subject.namespace, name: 'snapshot' },
      spec: { source: { persistentVolumeClaimName: 'source' } },
    });
    const { status, spec } = await until(async () => {
      const found = await find<VolumeSnapshot>(volumeSnapshots, 'snapshot');
      return found?.status?.readyToUse === true && found;
    });
    assert.equal(typeof status?.boundVolumeSnapshotContentName, 'string');
    assert.equal(typeof spec.volumeSnapshotClassName, 'string');
    await subject.api.delete(at(persistentVolumeClaims, 'source'));
    await until(() => isDeleted(persistentVolumeClaims, 'source'));

    await boundClaim('restored', {
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snapshot' },
    });
    await subject.api.delete(at(volumeSnapshots, 'snapshot'));
    await until(() => isDeleted(volumeSnapshots, 'snapshot'));
  });

  test('external-snapshotter: a snapshot of a missing claim has an error in its status', async () => {
    await subject.api.create<VolumeSnapshot>(volumeSnapshots, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { namespace: subject.namespace, name: 'of-nothing' },
      spec: { source: { persistentVolumeClaimName: 'nothing' } },
    });
    const error = await until(
      async () => (await find<VolumeSnapshot>(volumeSnapshots, 'of-nothing'))?.status?.error,
    );
    assert.match(error.message ?? '', /nothing/u);
  });

  test('volumerestrictions: a ReadWriteOncePod claim is used by one pod only', async () => {
    await createClaim('exclusive', {}, 'ReadWriteOncePod');
    await createPod('first', 'exclusive');
    await until(async () => (await find<Pod>(pods, 'first'))?.spec.nodeName);
    await createPod('second', 'exclusive');
    const refusal = await until(async () => {
      const conditions = (await find<Pod>(pods, 'second'))?.status?.conditions ?? [];
      return conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message;
    });
    assert.match(refusal, /ReadWriteOncePod access mode/u);
    await removePod('first');
    await until(async () => (await find<Pod>(pods, 'second'))?.spec.nodeName);
  });
}
