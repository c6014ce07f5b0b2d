import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../../kubernetes/client/api-error.ts';
import type { KubernetesApi, ListQuery } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { interceptingApi } from '../../testing/intercepting-api.ts';
import { testCloud } from '../../testing/test-cloud.ts';
import { volumeAttachments, waitUntilOffNode } from './volume-attachments.ts';

/** printf vol-1driver.examplenode-1 | sha256sum */
const name = 'csi-d267734bd6b8db9810a34176e6ae420302fac68b7310e5831cfcec56a6170c91';
const csi = { driver: 'driver.example', volumeHandle: 'vol-1' };
const claim: PersistentVolumeClaim = {
  metadata: { name: 'disk-1', namespace: 'n' },
  spec: { volumeName: 'pv-1' },
};

const attachment = (attachmentName: string, nodeName: string): KubernetesObject => ({
  metadata: { name: attachmentName, uid: attachmentName },
  ...{ spec: { nodeName, source: { persistentVolumeName: 'pv-1' } } },
});

interface World {
  readonly cloud: CallContext;
  /** The queries for VolumeAttachments, in order. */
  readonly asked: ListQuery[];
}

/**
 * Makes a cluster with these VolumeAttachments, which are deleted when they are watched. `volume` undefined:
 * it may not be read.
 */
async function world(
  t: TestContext,
  volume: PersistentVolume['spec'] | undefined,
  attachments: readonly KubernetesObject[],
): Promise<World> {
  const { cloud, api } = await testCloud(t);
  const asked: ListQuery[] = [];
  const present = new Map(attachments.map((object) => [object.metadata.name, object]));
  const matches = ({ fieldSelector }: ListQuery): KubernetesObject[] =>
    [...present.values()].filter(
      ({ metadata }) => fieldSelector === undefined || fieldSelector === `metadata.name=${metadata.name}`,
    );
  const list = async (resource: unknown, query: ListQuery = {}): Promise<unknown> => {
    assert.equal(resource, volumeAttachments);
    asked.push(query);
    return Promise.resolve({
      ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachmentList', items: matches(query) },
      metadata: { resourceVersion: '1' },
    });
  };
  const get = async (): Promise<unknown> => {
    if (volume !== undefined) return Promise.resolve({ metadata: { name: 'pv-1' }, spec: volume });
    throw new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 });
  };
  async function* watch(_: unknown, query: ListQuery = {}): AsyncGenerator {
    for (const object of matches(query)) {
      present.delete(object.metadata.name);
      yield Promise.resolve({ type: 'DELETED', object });
    }
  }
  const shown = { list, get, watch } as unknown as KubernetesApi;
  return { asked, cloud: { ...cloud, api: { ...interceptingApi(api, () => Promise.resolve()), ...shown } } };
}

test("of a CSI volume one VolumeAttachment is asked for, by the attach-detach controller's name", async (t) => {
  const others = [attachment('csi-other', 'node-2'), attachment('csi-another', 'node-1')];
  const { cloud, asked } = await world(t, { csi }, [attachment(name, 'node-1'), ...others]);
  assert.equal(await waitUntilOffNode(cloud, claim, 'node-1'), true);
  assert.equal(await waitUntilOffNode(cloud, claim, 'node-1'), false);
  assert.deepEqual([...new Set(asked.map(({ fieldSelector }) => fieldSelector))], [`metadata.name=${name}`]);
});

for (const [what, volume] of [
  ['a volume of a former in-tree plugin', { awsElasticBlockStore: {} } as PersistentVolume['spec']],
  ['a volume that the role may not read', undefined],
] as const) {
  test(`of ${what} all are read: its VolumeAttachment has a name that is not known`, async (t) => {
    const { cloud, asked } = await world(t, volume, [
      attachment('csi-1', 'node-1'),
      attachment('csi-2', 'node-2'),
    ]);
    assert.equal(await waitUntilOffNode(cloud, claim, 'node-1'), true);
    assert.deepEqual(asked[0], {});
    assert.equal(await waitUntilOffNode(cloud, claim, 'node-1'), false);
    assert.equal(await waitUntilOffNode(cloud, claim, undefined), true);
  });
}

test('of a volume that no driver attaches none is asked for', async (t) => {
  const { cloud, asked } = await world(t, { local: { path: '/mnt/disks/1' } }, []);
  assert.equal(await waitUntilOffNode(cloud, claim, undefined), false);
  assert.deepEqual(asked, []);
});
