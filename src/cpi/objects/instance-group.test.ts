import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi, Resource } from '../../kubernetes/api.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods, secrets, services } from '../../kubernetes/resources.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { Field } from '../../platform/field.ts';
import { label } from './labels.ts';
import { parseInstanceGroup } from './instance-group.ts';
import { agentId, createVmRequest, namespace, testCloud, vmCidOfTest } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { setVmMetadata } from '../vm/set-vm-metadata.ts';

const names = ['main-director', 'cf', 'router'] as const;
const groups = [...names, 'main-director-cf', 'cf-router', 'main-director-cf-router'];
const labels = { [label.director]: names[0], [label.deployment]: names[1], [label.instanceGroup]: names[2] };

test('every object of a VM says director, deployment and instance group, before and after its metadata', async (t) => {
  const { cloud, api } = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  const properties = { services: [{ name: 'web', ports: [{ port: 80 }] }] };
  await createVm(cloud, createVmRequest({ properties, env: { bosh: { groups } } }));
  const [director, deployment, instance_group] = names;
  for (const metadata of [undefined, { director, deployment, instance_group }]) {
    if (metadata !== undefined) await setVmMetadata(cloud, { vmCid: vmCidOfTest, metadata });
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

test('every object of one VM says its agent and the layout; no selector of a group or a deployment meets its attachment', async (t) => {
  const selecting = async (api: KubernetesApi, resource: Resource, selector: object): Promise<string[]> => {
    const labelSelector = Object.entries(selector)
      .map((pair) => pair.join('='))
      .join();
    return (await api.list(resource, { namespace, labelSelector })).items.map(
      ({ metadata }) => metadata.name,
    );
  };
  const one = { [label.agentId]: agentId, [label.vmId]: vmCidOfTest, [label.layout]: '1' };
  const env = { bosh: { group: 'main-director-cf-router', groups } };
  const data = { size: 1024, storage_class: 'fast' };
  const hot = await testCloud(t);
  await createVm(hot.cloud, createVmRequest({ env, properties: { ephemeral_disk: data } }));
  const disk = await createDisk(hot.cloud, { sizeMiB: 64, cloudProperties: {}, vmCid: vmCidOfTest });
  await attachDisk(hot.cloud, { vmCid: vmCidOfTest, diskCid: disk });
  assert.deepEqual(await selecting(hot.api, secrets, one), [vmCidOfTest]);
  assert.deepEqual(await selecting(hot.api, pods, one), [`attach-${disk}`, vmCidOfTest]);
  for (const selector of [{ [label.group]: groups.at(-1) }, labels, { ...one, [label.kind]: 'vm' }]) {
    assert.deepEqual(await selecting(hot.api, pods, selector), [vmCidOfTest]);
  }
  const { spec } = await hot.api.get<Pod>({ resource: pods, namespace, name: vmCidOfTest });
  const templates = (spec.volumes ?? []).flatMap(({ ephemeral }) => ephemeral?.volumeClaimTemplate ?? []);
  const [made] = templates.map(({ metadata }) => metadata?.labels);
  assert.deepEqual(made, { ...made, ...one, ...labels, [label.kind]: 'volume' });

  const recreate = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  await createVm(recreate.cloud, createVmRequest({ env }));
  assert.deepEqual(await selecting(recreate.api, persistentVolumeClaims, { ...one, ...labels }), [
    `${vmCidOfTest}-data`,
    `${vmCidOfTest}-state`,
  ]);
});

test('of group names in another order, or fewer, nobody says which is which', () => {
  const parse = (bosh: object): unknown => parseInstanceGroup(new Field({ bosh }, 'env', 'INVALID_ARGUMENT'));
  const last = groups.at(-1);
  assert.deepEqual(parse({ groups }), { group: last, groupLabels: labels });
  assert.deepEqual(parse({ groups: groups.slice(3) }), { group: last, groupLabels: {} });
  assert.deepEqual(parse({ groups: groups.with(0, 'other') }), { group: last, groupLabels: {} });
  assert.deepEqual(parse({ group: 'given', groups: ['a'] }), { group: 'given', groupLabels: {} });
  assert.deepEqual(parse({}), { group: undefined, groupLabels: {} });
});
