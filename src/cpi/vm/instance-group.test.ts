import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, pods, secrets, services } from '../../kubernetes/resources.ts';
import { label } from '../labels.ts';
import { createVmArguments, namespace, testCloud, vmCidOfTest } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { parseInstanceGroup } from './instance-group.ts';
import { setVmMetadata } from './set-vm-metadata.ts';

const names = ['main-director', 'cf', 'router'] as const;
const groups = [...names, 'main-director-cf', 'cf-router', 'main-director-cf-router'];
const labels = { [label.director]: names[0], [label.deployment]: names[1], [label.instanceGroup]: names[2] };

test('every object of a VM says director, deployment and instance group, before and after its metadata', async (t) => {
  const { cloud, api } = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  const properties = { services: [{ name: 'web', ports: [{ port: 80 }] }] };
  await createVm(cloud, createVmArguments({ properties, env: { bosh: { groups } } }));
  const [director, deployment, instance_group] = names;
  for (const metadata of [undefined, { director, deployment, instance_group }]) {
    if (metadata !== undefined) await setVmMetadata(cloud, [vmCidOfTest, metadata]);
    for (const [resource, count] of [
      ...([
        [secrets, 1],
        [pods, 1],
        [services, 1],
        [persistentVolumeClaims, 2],
      ] as const),
    ]) {
      const labelSelector = Object.entries(labels)
        .map((pair) => pair.join('='))
        .join();
      const { items } = await api.list(resource, { namespace, labelSelector });
      assert.equal(items.length, count, `${resource.plural} with metadata ${JSON.stringify(metadata)}`);
    }
  }
});

test('of group names in another order, or fewer, nobody says which is which', () => {
  const parse = (bosh: object): unknown =>
    parseInstanceGroup({ bosh }, { code: 'INVALID_ARGUMENT', path: 'env' });
  const last = groups.at(-1);
  assert.deepEqual(parse({ groups }), { group: last, groupLabels: labels });
  assert.deepEqual(parse({ groups: groups.slice(3) }), { group: last, groupLabels: {} });
  assert.deepEqual(parse({ groups: groups.with(0, 'other') }), { group: last, groupLabels: {} });
  assert.deepEqual(parse({ group: 'given', groups: ['a'] }), { group: 'given', groupLabels: {} });
  assert.deepEqual(parse({}), { group: undefined, groupLabels: {} });
});
