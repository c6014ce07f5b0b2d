import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { limitRanges } from '../errors/limit-range.ts';
import { forbidden } from '../../../embedded-cluster/api-server/errors/status-errors.ts';
import type { KubernetesApi, ListQuery, Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Container, Pod } from '../../kubernetes/types/pod.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { limitRangeKind } from '../testing/foreign-kinds.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import {
  type TestCloud,
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest,
} from '../testing/test-cloud.ts';
import { checkVm } from './check-vm.ts';
import { createVm } from './create-vm.ts';

type Values = Record<string, string>;

/** Changes a container as the plugin LimitRanger does (kubernetes: plugin/pkg/admission/limitranger). */
function withDefaults(container: Container, limits: Values): Container {
  const { resources } = container;
  return {
    ...container,
    resources: { ...resources, limits: { ...limits, ...resources?.limits } },
  };
}

/**
 * Returns a world with a LimitRange `small` in the namespace of the VMs; `isListed`: the account may list
 * LimitRanges.
 */
async function withLimitRange(
  t: TestContext,
  limits: Values,
  { isListed = true, isAnnotated = true } = {},
): Promise<TestCloud & { said: string[] }> {
  const world = await testCloud(t, {}, [limitRangeKind]);
  await world.api.create(limitRanges, {
    metadata: { namespace, name: 'small' },
    spec: { limits: [{ type: 'Container', default: limits }] },
  } as KubernetesObject);
  await world.api.create(limitRanges, {
    metadata: { namespace, name: 'of-volumes' },
    spec: { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '1Ti' } }] },
  } as KubernetesObject);
  const annotations = isAnnotated && {
    'kubernetes.io/limit-ranger':
      'LimitRanger plugin set: memory limit for container bosh; memory limit for init container prepare',
  };
  const admitted = <T extends KubernetesObject>(resource: Resource, object: T): T => {
    if (resource.plural !== 'pods') return object;
    const { spec, metadata } = object as unknown as Pod;
    const each = (list: readonly Container[] = []): Container[] =>
      list.map((container) => withDefaults(container, limits));
    return {
      ...object,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
      spec: {
        ...spec,
        containers: each(spec.containers),
        ...(spec.initContainers !== undefined && { initContainers: each(spec.initContainers) }),
      },
    };
  };
  const api: KubernetesApi = {
    ...interceptingApi(world.api, () => Promise.resolve()),
    create: (resource, object) => world.api.create(resource, admitted(resource, object)),
    dryRunCreate: (resource, object) => world.api.dryRunCreate(resource, admitted(resource, object)),
    list: <T extends KubernetesObject>(resource: Resource, query?: ListQuery) =>
      resource.plural === 'limitranges' && !isListed
        ? Promise.reject(forbidden(limitRanges, '', 'it is not allowed'))
        : world.api.list<T>(resource, query),
  };
  const said: string[] = [];
  return { ...world, said, cloud: { ...world.cloud, api, reportProgress: (line) => void said.push(line) } };
}

test('create_vm says which limits of the pod nothing asked for, and which LimitRange gave them', async (t) => {
  const { cloud, said } = await withLimitRange(t, { cpu: '500m', memory: '512Mi' });
  await createVm(cloud, createVmRequest({ properties: { memory: 128, resources: { limits: { cpu: 1 } } } }));
  const [line = '', ...others] = said;
  assert.deepEqual(others, []);
  assert.match(line, /^note: the pod of VM 'vm-\S+' got limits that neither .* set: memory 512Mi\. /u);
  assert.match(
    line,
    /They come from LimitRange small in namespace bosh\. .*set resources\.limits in cloud_properties/u,
  );
});

test('limits that an admission webhook set are reported as such', async (t) => {
  const { cloud, said } = await withLimitRange(t, { memory: '512Mi' }, { isAnnotated: false });
  await createVm(cloud, createVmRequest());
  assert.match(said.join('\n'), /memory 512Mi\. They come from an admission webhook of the cluster\./u);
});

test('create_vm says nothing if the pod has what was asked for, or the limits written in another way', async (t) => {
  const { cloud, said } = await withLimitRange(t, {});
  const resources = { limits: { memory: '4096Mi', cpu: 2 }, requests: { memory: '1Gi' } };
  await createVm(cloud, createVmRequest({ properties: { resources } }));
  assert.deepEqual(said, []);
});

test('without the right to list LimitRanges the VM is made, and the line says how to find the one that gave the limits', async (t) => {
  const { cloud, said } = await withLimitRange(t, { memory: '512Mi' }, { isListed: false });
  await createVm(cloud, createVmRequest());
  assert.match(
    said.join('\n'),
    /set: memory 512Mi\. They come from a LimitRange in namespace bosh \(kubectl get limitranges -n bosh\)\./u,
  );
});

test('a request above the default limit of a LimitRange is not blamed on a property that asked for no limit', async (t) => {
  const { cloud, api } = await withLimitRange(t, { memory: '512Mi' });
  const args = createVmRequest({ properties: { memory: 1024 } });
  const message =
    /memory limit of 512Mi; no property sets this limit of memory; it is the default of LimitRange small in namespace bosh: set resources\.limits in cloud_properties or in defaults\.resources, or raise that default$/u;
  await assert.rejects(createVm(cloud, args), { code: 'VM_CREATION_FAILED', message });
  await assert.rejects(checkVm(cloud, args), { message });
  assert.deepEqual(await namesLeft(api), []);
});

test('the containers of fixed requests have no property for limits, which the error says', async (t) => {
  const { cloud } = await withLimitRange(t, { memory: '16Mi' });
  const own = createVmRequest({ properties: { resources: { limits: { memory: '1Gi' } } } });
  await assert.rejects(createVm(cloud, own), {
    message:
      /container prepare, which requests a fixed small amount, and no property changes that: raise the default limit of memory in LimitRange small in namespace bosh$/u,
  });

  const world = await withLimitRange(t, { memory: '16Mi' }, { isListed: false });
  await createVm({ ...world.cloud, api: world.api }, own);
  const disk = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: {} });
  await assert.rejects(attachDisk(world.cloud, { vmCid: vmCidOfTest, diskCid: disk }), {
    message:
      /container hold, which .*raise the default limit of memory in a LimitRange in namespace bosh \(kubectl get limitranges -n bosh\), or keep the disks in another namespace/u,
  });
});
