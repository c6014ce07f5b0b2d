import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { Container, Pod } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { attachmentReference } from './disk/attach/attachment-pod.ts';
import { buildSweeperPod, hubPodPlan } from './disk/attach/attachment-pod-spec.ts';
import { createDisk } from './disk/create-disk.ts';
import { label } from './objects/labels.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { startSimulatedWorld } from './testing/simulated-world.ts';
import { plannedPod } from './testing/planned-pod.ts';
import { createVmRequest, vmCidOfTest as vmCid } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { findVm } from './vm/vms.ts';
import { withDisks } from './vm/recorded-pod.ts';

const proxy: Container = { name: 'istio-proxy', image: 'registry.example/proxy:1', command: ['proxy'] };

/** Injects a container as the webhook of Istio does with holdApplicationUntilProxyStarts. */
const injecting = (api: KubernetesApi): KubernetesApi => ({
  ...interceptingApi(api, () => Promise.resolve()),
  create: async (resource, object) => {
    const isVm = resource === pods && object.metadata.labels?.[label.kind] === 'vm';
    if (!isVm) return api.create(resource, object);
    const pod = object as unknown as Pod;
    const containers = [proxy, ...pod.spec.containers];
    return api.create(resource, { ...object, spec: { ...pod.spec, containers } });
  },
});

async function vmBehindProxy(t: TestContext): Promise<CallContext> {
  const world = await startSimulatedWorld(t);
  await world.addVolume();
  const cloud = { ...world.cloud, api: injecting(world.cluster.api) };
  const networks = { default: { type: 'dynamic', cloud_properties: {} } };
  await createVm(cloud, createVmRequest({ networks }));
  return cloud;
}

test("attachment and cleanup pods run the stemcell's image although a sidecar is the first container", async (t) => {
  const cloud = await vmBehindProxy(t);
  const vm = (await findVm(cloud, vmCid)) ?? assert.fail('the VM is there');
  const [first, ours] = vm.spec.containers;
  assert.equal(first?.name, proxy.name);

  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: '' }, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });

  const attachment = await cloud.api.get<Pod>(attachmentReference(cloud, `attach-${disk}`));
  for (const { spec } of [attachment, buildSweeperPod(hubPodPlan(cloud, vm))])
    assert.deepEqual(
      spec.containers.map(({ image }) => image),
      [ours?.image],
    );
});

test("a VM's own container and init container get its disks, not injected ones in front of them", () => {
  const pod = plannedPod({ attach: 'recreate' });
  const { initContainers = [], containers } = pod.spec;
  const behind = {
    ...pod.spec,
    initContainers: [proxy, ...initContainers],
    containers: [proxy, ...containers],
  };
  const disk = 'disk-2b3c4d5e-0000-4000-8000-000000000001';
  const { spec } = withDisks({ ...pod, spec: behind }, [disk]);
  const having = (list: readonly Container[] = []): string[] =>
    list
      .filter(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === disk))
      .map(({ name }) => name);
  assert.deepEqual([having(spec.initContainers), having(spec.containers)], [['prepare'], ['bosh']]);
});
