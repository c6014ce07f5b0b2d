import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../kubernetes/service.ts';
import type { CallContext } from '../cloud.ts';
import { annotation } from '../labels.ts';
import { sha256 } from '../sha256.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { createVmArguments, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';

const ports = [{ port: 443, target_port: 8443 }];
const vm = (cloud: CallContext, more: object, name = 'web'): Promise<unknown> =>
  createVm(
    cloud,
    createVmArguments({
      agentId: 'one',
      properties: { services: [{ name, selector: 'vm', ports, ...more }] },
      networks: { default: { type: 'dynamic' } },
      env: { bosh: { group: 'd-web' } },
    }),
  );

/**
 * Returns an API that shows each Service with the fields `given`, and records each replaced spec: the
 * embedded cluster has no Services of two families.
 */
function dualStack(api: KubernetesApi, given: ServiceSpec): { api: KubernetesApi; replaced: ServiceSpec[] } {
  const replaced: ServiceSpec[] = [];
  return {
    replaced,
    api: {
      ...interceptingApi(api, () => Promise.resolve()),
      get: async (reference) => {
        const object = await api.get(reference);
        if (reference.resource !== services) return object as never;
        const { spec } = object as Service;
        return { ...object, spec: { ...spec, ...given } } as never;
      },
      replace: (_, object) => {
        replaced.push((object as unknown as Service).spec);
        return Promise.resolve(object);
      },
    },
  };
}

const both = {
  ...{ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
  ...{ clusterIP: '127.127.0.9', clusterIPs: ['127.127.0.9', 'fd00::9'] },
};
for (const addresses of [
  { cluster_ip: '127.127.0.9' },
  { external_ips: ['192.0.2.20'] },
  { external_ips: ['2001:db8::7'] },
  { external_ips: ['192.0.2.20', '2001:db8::7'] },
  {},
]) {
  test(`a Service that somebody gave a second family keeps it and its addresses: ${JSON.stringify(addresses)}`, async (t) => {
    const { cloud } = await testCloud(t);
    await vm(cloud, { cluster_ip: '127.127.0.9' });
    const { api, replaced } = dualStack(cloud.api, both);
    const changed = [{ port: 444, target_port: 8443 }];
    await vm({ ...cloud, api }, { ...addresses, ports: changed });
    const kept = replaced.map(({ ipFamilies, ipFamilyPolicy, clusterIP, clusterIPs }) => ({
      ...{ ipFamilies, ipFamilyPolicy, clusterIP, clusterIPs },
    }));
    assert.deepEqual(kept, [both]);
  });
}

test('a second family that the Service does not have is asked for', async (t) => {
  const { cloud } = await testCloud(t);
  await vm(cloud, {});
  const { api, replaced } = dualStack(cloud.api, {});
  await vm({ ...cloud, api }, { external_ips: ['192.0.2.20', '2001:db8::7'] });
  assert.deepEqual(
    replaced.map(({ ipFamilies, ipFamilyPolicy }) => [ipFamilies, ipFamilyPolicy]),
    [[['IPv4'], 'RequireDualStack']],
  );
});

test('a Service with an address that was made before families were asked for stays as it is', async (t) => {
  const { cloud } = await testCloud(t);
  const given = { cluster_ip: '127.127.0.9' };
  await vm(cloud, given);
  const reference = { resource: services, namespace, name: 'web' };
  const spec = {
    ...{ type: 'ClusterIP', clusterIP: '127.127.0.9' },
    ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
  };
  const digest = sha256(JSON.stringify([spec, {}, 'vm']));
  await cloud.api.patch(reference, { metadata: { annotations: { [annotation.specDigest]: digest } } });
  const before = await cloud.api.get(reference);
  await vm(cloud, given);
  assert.deepEqual(await cloud.api.get(reference), before);
});

test('a Service of another family than its address says how it comes to it', async (t) => {
  const { cloud } = await testCloud(t);
  await vm(cloud, {});
  await assert.rejects(vm(cloud, { external_ips: ['2001:db8::7'] }), (error: unknown) => {
    assert.ok(isProductError(error, 'VM_CREATION_FAILED'), String(error));
    assert.match(error.message, /family IPv4, and an address of IPv6 .*delete service web\)/u);
    return true;
  });
});
