import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice, Service } from '../../src/kubernetes/types/service.ts';
import { endpointSlices, services } from '../../src/kubernetes/resources.ts';
import { openLocalApi } from './local-api.ts';
import { apiServerAddress, publishApiServer } from './publish-api-server.ts';
import { temporaryDirectory } from './testing/temporary-directory.ts';

const reference = { namespace: 'default', name: 'kubernetes' };

test('the Service kubernetes points to the server, also after a restart with another port', async (t) => {
  const api = await openLocalApi({ directory: temporaryDirectory(t) });
  t.after(() => api.close());
  await publishApiServer(api, new URL('https://127.0.0.1:4001'));
  await publishApiServer(api, new URL('https://127.0.0.1:4002'));
  const service = await api.get<Service>({ resource: services, ...reference });
  assert.equal(service.spec.clusterIP, apiServerAddress);
  assert.deepEqual(service.spec.ports, [{ name: 'https', protocol: 'TCP', port: 4002, targetPort: 4002 }]);
  const slice = await api.get<EndpointSlice>({ resource: endpointSlices, ...reference });
  assert.deepEqual(slice.endpoints, [{ addresses: ['127.0.0.1'], conditions: { ready: true } }]);
  assert.deepEqual(slice.ports, [{ name: 'https', protocol: 'TCP', port: 4002 }]);
});

test("the cluster starts although another Service has the server's address", async (t) => {
  const api = await openLocalApi({ directory: temporaryDirectory(t) });
  t.after(() => api.close());
  const ownService: Service = {
    metadata: { namespace: 'bosh', name: 'mine' },
    spec: { clusterIP: apiServerAddress, ports: [{ port: 80 }] },
  };
  await api.create(services, ownService);
  await publishApiServer(api, new URL('https://127.0.0.1:4001'));
  const service = await api.get<Service>({ resource: services, ...reference });
  assert.notEqual(service.spec.clusterIP, apiServerAddress);
});
