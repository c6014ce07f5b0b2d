import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { configMaps, pods, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../src/kubernetes/types/storage.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { WireSubject } from './subject.ts';
import { exchange, type Answer } from './wire.ts';

const contentType = 'application/strategic-merge-patch+json';

/**
 * Strategic merge patch (kubernetes.io: Update API Objects in Place; apimachinery pkg/util/strategicpatch).
 */
export function strategicMergeContract(makeSubject: () => Promise<WireSubject>): void {
  let subject: WireSubject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const patch = (resource: typeof pods, name: string, body: unknown, subresource?: string): Promise<Answer> =>
    exchange(subject, resource, {
      method: 'PATCH',
      name,
      ...(subresource === undefined ? {} : { subresource }),
      contentType,
      body,
    });

  test('containers merge by name: fields that a patch does not mention stay', async () => {
    const { api, namespace } = subject;
    const pod = unschedulablePod(namespace, 'joined');
    for (const container of pod.spec.containers) container.command = ['sleep', '1'];
    const made = await api.create<Pod>(pods, pod);
    const containers = made.spec.containers.map(({ name, image }) => ({ name, image }));
    const { status, json } = await patch(pods, 'joined', { spec: { containers } });
    assert.equal(status, 200);
    assert.deepEqual((json as unknown as Pod).spec.containers, made.spec.containers);
  });

  test('conditions merge by type, new ones come first, and $patch: delete removes one', async () => {
    const { api, namespace } = subject;
    await api.create<Pod>(pods, unschedulablePod(namespace, 'conditions'));
    const conditionsAfter = async (conditions: object[]): Promise<string[]> => {
      const { status, json } = await patch(pods, 'conditions', { status: { conditions } }, 'status');
      assert.equal(status, 200);
      return ((json as unknown as Pod).status?.conditions ?? [])
        .filter(({ type }) => type.startsWith('contract/'))
        .map(({ type, status: state }) => `${type} ${state}`);
    };
    await conditionsAfter([{ type: 'contract/a', status: 'True' }]);
    assert.deepEqual(await conditionsAfter([{ type: 'contract/b', status: 'True' }]), [
      'contract/b True',
      'contract/a True',
    ]);
    assert.deepEqual(await conditionsAfter([{ type: 'contract/a', status: 'False' }]), [
      'contract/b True',
      'contract/a False',
    ]);
    assert.deepEqual(await conditionsAfter([{ type: 'contract/b', $patch: 'delete' }]), ['contract/a False']);
  });

  test('finalizers are a set: additions, $deleteFromPrimitiveList and $setElementOrder apply', async () => {
    const { api, namespace } = subject;
    const of = (...names: string[]): string[] => names.map((name) => `bosh.cloudfoundry.org/${name}`);
    await api.create(configMaps, configMap(namespace, 'set', { finalizers: of('a', 'b') }));
    const finalizersAfter = async (metadata: object): Promise<unknown> => {
      const { json } = await patch(configMaps, 'set', { metadata });
      return (json as unknown as KubernetesObject).metadata.finalizers;
    };
    const ordered = { '$setElementOrder/finalizers': of('b', 'c', 'a'), finalizers: of('c') };
    assert.deepEqual(await finalizersAfter(ordered), of('b', 'c', 'a'));
    assert.deepEqual(await finalizersAfter({ '$deleteFromPrimitiveList/finalizers': of('c') }), of('b', 'a'));
    assert.equal(await finalizersAfter({ finalizers: null }), undefined);
  });

  test('$patch: replace replaces a map, and $retainKeys keeps the fields that it lists', async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'maps', { data: { a: '1', b: '2', c: '3' } }));
    const dataAfter = async (data: object): Promise<unknown> =>
      (await patch(configMaps, 'maps', { data })).json['data'];
    assert.deepEqual(await dataAfter({ $retainKeys: ['a', 'd'], d: '4' }), { a: '1', d: '4' });
    assert.deepEqual(await dataAfter({ $patch: 'replace', e: '5' }), { e: '5' });
  });

  test('custom resources do not support it: 415', async () => {
    const { api, namespace } = subject;
    await api.create<VolumeSnapshot>(volumeSnapshots, {
      // a custom resource needs its kind, even if a server has that kind built in
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { namespace, name: 'unmerged' },
      spec: { source: { persistentVolumeClaimName: 'none' } },
    });
    const { status, json } = await patch(volumeSnapshots, 'unmerged', { metadata: { labels: { a: 'b' } } });
    assert.deepEqual([status, json['reason']], [415, 'UnsupportedMediaType']);
  });
}
