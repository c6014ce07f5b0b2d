import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../src/kubernetes/types/storage.ts';
import { VolumeWorld } from './volumes/volume-world.ts';
import { withoutNodes } from './test-cluster.ts';

const apiGroup = 'snapshot.storage.k8s.io';

describe('volumes of a real cluster', withoutNodes, () => {
  let world: VolumeWorld;
  before(async () => {
    world = await VolumeWorld.open();
  });
  after(() => world.close());

  for (const storageClassName of ['loop', 'loop-wait']) {
    test(`a claim of class ${storageClassName} keeps its data when its pod moves to the other node`, async () => {
      const claim = `moved-${storageClassName}`;
      await world.claim(claim, { storageClassName });
      await world.use(claim, 'node-1', (pod) => world.pods.run(pod, 'echo one >/disk/data'));
      await world.use(claim, 'node-2', async (pod) => {
        assert.equal(await world.pods.run(pod, 'cat /disk/data; echo two >>/disk/data'), 'one\n');
      });
      await world.use(claim, 'node-1', async (pod) => {
        assert.equal(await world.pods.run(pod, 'cat /disk/data'), 'one\ntwo\n');
      });
      assert.deepEqual(await world.violations(claim), []);
    });
  }

  test('a class that waits makes no volume before its pod has a node', async () => {
    await world.claim('waiting', { storageClassName: 'loop-wait' });
    await world.untilEvent('waiting', /waiting for first consumer/);
    const { spec } = await world.claimNow('waiting');
    assert.equal(spec.volumeName, undefined);
  });

  test('a volume that a pod has on one node is not given to the other', async () => {
    await world.claim('held');
    await world.pod('holder', 'held', 'node-1');
    await world.pods.ready('holder');
    await world.pod('asking', 'held', 'node-2');
    await world.untilEvent('asking', /Multi-Attach error/);
    await world.pods.run('holder', 'echo held >/disk/data');
    await world.pods.remove(pods, 'holder');
    await world.pods.ready('asking');
    assert.equal(await world.pods.run('asking', 'cat /disk/data'), 'held\n');
    await world.pods.remove(pods, 'asking');
    assert.deepEqual(await world.violations('held'), []);
  });

  test('a claim for one pod is refused to a second, also on the same node', async () => {
    await world.claim('alone', { accessModes: ['ReadWriteOncePod'] });
    await world.pod('first', 'alone', 'node-1');
    await world.pods.ready('first');
    await world.pod('second', 'alone', 'node-1');
    await world.untilEvent('second', /ReadWriteOncePod/);
    await world.pods.remove(pods, 'first');
    await world.pods.ready('second');
    await world.pods.remove(pods, 'second');
  });

  test('a volume grows with its claim and keeps its data', async () => {
    await world.claim('growing', {}, '32Mi');
    const size = async (pod: string): Promise<number> => {
      const line = (await world.pods.run(pod, 'df -m /disk')).trim().split('\n').at(-1) ?? '';
      return Number(line.trim().split(/\s+/).at(1));
    };
    await world.use('growing', 'node-1', async (pod) => {
      await world.pods.run(pod, 'echo kept >/disk/data');
      assert.ok((await size(pod)) < 32);
    });
    await world.pods.api.patch(world.claimAt('growing'), {
      spec: { resources: { requests: { storage: '128Mi' } } },
    });
    await world.pods.until<PersistentVolumeClaim, true>(persistentVolumeClaims, 'growing', (claim) =>
      claim?.status?.conditions?.some(({ type }) => type === 'FileSystemResizePending') === true
        ? true
        : undefined,
    );
    await world.use('growing', 'node-2', async (pod) => {
      assert.ok((await size(pod)) > 100);
      assert.equal(await world.pods.run(pod, 'cat /disk/data'), 'kept\n');
    });
    const { status } = await world.claimNow('growing');
    assert.equal(status?.capacity?.['storage'], '128Mi');
  });

  test('a snapshot and a clone have the data of their moment, and live without their volume', async () => {
    await world.claim('source');
    await world.use('source', 'node-1', async (pod) => {
      await world.pods.run(pod, 'echo before >/disk/data');
      await world.snapshot('snap', 'source');
      await world.pods.run(pod, 'echo after >/disk/data');
      await world.claim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } });
      await world.bound('clone');
    });
    await world.pods.remove(persistentVolumeClaims, 'source');
    await world.claim('restored', { dataSource: { apiGroup, kind: 'VolumeSnapshot', name: 'snap' } }, '64Mi');
    for (const [claim, data] of [
      ['clone', 'after\n'],
      ['restored', 'before\n'],
    ] as const) {
      await world.use(claim, 'node-2', async (pod) => {
        assert.equal(await world.pods.run(pod, 'cat /disk/data'), data, claim);
      });
    }
    await world.pods.remove(volumeSnapshots, 'snap');
  });

  test('a class without them refuses growth and snapshots', async () => {
    await world.claim('plain', { storageClassName: 'loop-plain' });
    await world.use('plain', 'node-1', (pod) => world.pods.run(pod, 'echo kept >/disk/data'));
    const growth = { spec: { resources: { requests: { storage: '128Mi' } } } };
    await assert.rejects(world.pods.api.patch(world.claimAt('plain'), growth), (error) =>
      isApiError(error, 403),
    );
    await world.pods.api.create<VolumeSnapshot>(volumeSnapshots, {
      apiVersion: `${apiGroup}/v1`,
      kind: 'VolumeSnapshot',
      metadata: { name: 'none', namespace: world.pods.namespace },
      spec: { source: { persistentVolumeClaimName: 'plain' } },
    });
    const message = await world.pods.until<VolumeSnapshot, string>(
      volumeSnapshots,
      'none',
      (snapshot) => snapshot?.status?.error?.message,
    );
    assert.match(message, /snapshot class/);
    await world.pods.remove(volumeSnapshots, 'none');
  });

  test('a volume gets other attributes, or an event names the reason', async () => {
    await world.claim('tuned');
    await world.bound('tuned');
    const change = (volumeAttributesClassName: string): Promise<object> =>
      world.pods.api.patch(world.claimAt('tuned'), { spec: { volumeAttributesClassName } });
    await change('loop-fast');
    await world.pods.until<PersistentVolumeClaim, true>(persistentVolumeClaims, 'tuned', (claim) =>
      claim?.status?.currentVolumeAttributesClassName === 'loop-fast' ? true : undefined,
    );
    await change('loop-impossible');
    const { status } = await world.pods.until<
      PersistentVolumeClaim,
      NonNullable<NonNullable<PersistentVolumeClaim['status']>['modifyVolumeStatus']>
    >(persistentVolumeClaims, 'tuned', (claim) => {
      const modification = claim?.status?.modifyVolumeStatus;
      return modification?.status === 'Infeasible' ? modification : undefined;
    });
    assert.equal(status, 'Infeasible');
  });

  test('the volume of a pod that is killed without grace is intact', async () => {
    await world.claim('killed');
    await world.pod('writer', 'killed', 'node-1');
    await world.pods.ready('writer');
    await world.pods.run('writer', 'echo kept >/disk/data; sync');
    await world.pods.api.delete(
      { resource: pods, namespace: world.pods.namespace, name: 'writer' },
      { gracePeriodSeconds: 0 },
    );
    await world.pods.until<Pod, true>(pods, 'writer', (pod) => (pod === undefined ? true : undefined));
    await world.use('killed', 'node-2', async (pod) => {
      assert.equal(await world.pods.run(pod, 'cat /disk/data'), 'kept\n');
    });
    assert.deepEqual(await world.violations('killed'), []);
  });

  test('deleting a claim removes its volume: no object, file or device remains', async () => {
    await world.claim('short');
    const volume = await world.bound('short');
    const { name } = volume.metadata;
    await world.use('short', 'node-1', (pod) => world.pods.run(pod, 'echo gone >/disk/data'));
    await world.pods.remove(persistentVolumeClaims, 'short');
    await world.pods.until<PersistentVolume, true>(persistentVolumes, name, (found) =>
      found === undefined ? true : undefined,
    );
    assert.equal(await world.store.volume(name), undefined);
    for (const mounts of await world.nodeMounts()) {
      assert.ok(!mounts.some((line) => line.includes(name)), name);
    }
  });
});
