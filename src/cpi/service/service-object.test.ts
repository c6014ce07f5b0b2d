import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNetworks } from '../address/networks.ts';
import { parseConfig } from '../config.ts';
import type { Place } from '../input.ts';
import { services } from '../vm/properties/services.ts';
import { serviceObject } from './service-object.ts';
import type { ServiceRequest } from './service-request.ts';
import { vipService } from './vip.ts';

/** What the embedded cluster does not do: addresses of a network outside. */
const place: Place = { code: 'INVALID_ARGUMENT', path: 'create_vm' };
const owner = {
  cid: 'vm-a',
  namespace: 'bosh',
  uid: 'u',
  group: 'g',
  groupLabels: {},
  directorUuid: undefined,
};
const ports = [{ port: 443, target_port: 8443 }];
const specOf = (requests: readonly ServiceRequest[]): unknown[] =>
  requests.map((request) => serviceObject(request, owner).spec);

test('a load balancer of a class, with an address, and addresses that nodes take as theirs', () => {
  const given = {
    ...{ name: 'web', type: 'LoadBalancer', load_balancer_ip: '192.0.2.10', selector: { job: 'web' } },
    ...{ load_balancer_class: 'example.com/internal', external_ips: ['192.0.2.20', '2001:db8::1'], ports },
  };
  assert.deepEqual(specOf(services.parse({ services: [given] }, place, parseConfig({}, {}))), [
    {
      type: 'LoadBalancer',
      ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
      ...{ loadBalancerIP: '192.0.2.10', loadBalancerClass: 'example.com/internal' },
      externalIPs: ['192.0.2.20', '2001:db8::1'],
      selector: { job: 'web' },
    },
  ]);
});

test('a vip by external_ip is what nodes take for the one VM', () => {
  const networks = {
    own: { type: 'dynamic' },
    public: { type: 'vip', ip: '192.0.2.7', cloud_properties: { vip: { via: 'external_ip', ports } } },
  };
  const { vips } = parseNetworks(networks, place);
  assert.deepEqual(specOf(vips.flatMap(vipService)), [
    {
      type: 'ClusterIP',
      ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
      externalIPs: ['192.0.2.7'],
      selector: { 'bosh.cloudfoundry.org/kind': 'vm', 'bosh.cloudfoundry.org/vm-id': 'vm-a' },
    },
  ]);
});
