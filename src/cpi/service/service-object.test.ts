import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNetworks } from '../network/networks.ts';
import { parseConfig } from '../config/config.ts';
import { Field } from '../../platform/field.ts';
import { services, type ServiceRequest } from './service-properties.ts';
import { serviceObject } from './service-object.ts';
import { vipService } from './vip.ts';

/** This file covers addresses outside the cluster, which the embedded cluster does not provide. */
const argument = (value: unknown): Field => new Field(value, 'create_vm', 'INVALID_ARGUMENT');
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
    ...{ load_balancer_class: 'example.com/internal', external_ips: ['192.0.2.20'], ports },
  };
  assert.deepEqual(specOf(services.parse(argument({ services: [given] }), parseConfig({}, {}))), [
    {
      type: 'LoadBalancer',
      ...{ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
      ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
      ...{ loadBalancerIP: '192.0.2.10', loadBalancerClass: 'example.com/internal' },
      externalIPs: ['192.0.2.20'],
      selector: { job: 'web' },
    },
  ]);
});

const six = { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' };
const both = { ipFamilies: undefined, ipFamilyPolicy: 'RequireDualStack' };
for (const [given, families] of [
  [{}, { ipFamilies: undefined, ipFamilyPolicy: undefined }],
  [{ cluster_ip: 'None' }, { ipFamilies: undefined, ipFamilyPolicy: undefined }],
  [{ cluster_ip: 'fd00::7' }, six],
  [{ external_ips: ['2001:db8::1', '2001:db8::2'] }, six],
  [{ type: 'LoadBalancer', load_balancer_ip: '2001:db8::1' }, six],
  [{ external_ips: ['192.0.2.20', '2001:db8::1'] }, both],
  [{ cluster_ip: '10.96.0.7', external_ips: ['2001:db8::1'] }, both],
] as const) {
  test(`the families of a Service with ${JSON.stringify(given)} are those of its addresses`, () => {
    const service = { name: 'web', selector: 'vm', ports, ...given };
    const [request] = services.parse(argument({ services: [service] }), parseConfig({}, {}));
    assert.ok(request !== undefined);
    const { ipFamilies, ipFamilyPolicy } = serviceObject(request, owner).spec;
    assert.deepEqual({ ipFamilies, ipFamilyPolicy }, families);
  });
}

for (const [via, ip, family, field] of [
  ['external_ip', '192.0.2.7', 'IPv4', { externalIPs: ['192.0.2.7'] }],
  ['external_ip', '2001:db8::7', 'IPv6', { externalIPs: ['2001:db8::7'] }],
  ['load_balancer', '2001:db8::7', 'IPv6', { type: 'LoadBalancer', loadBalancerIP: '2001:db8::7' }],
  ['cluster_ip', 'fd00::7', 'IPv6', { clusterIP: 'fd00::7' }],
] as const) {
  test(`a vip ${ip} by ${via} is of the one VM, and of the address's family alone`, () => {
    const networks = {
      own: { type: 'dynamic' },
      public: { type: 'vip', ip, cloud_properties: { vip: { via, ports } } },
    };
    const { vips } = parseNetworks(argument(networks));
    assert.deepEqual(specOf(vips.flatMap(vipService)), [
      {
        type: 'ClusterIP',
        ...{ ipFamilies: [family], ipFamilyPolicy: 'SingleStack' },
        ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
        ...field,
        selector: { 'bosh.cloudfoundry.org/kind': 'vm', 'bosh.cloudfoundry.org/vm-id': 'vm-a' },
      },
    ]);
  });
}
