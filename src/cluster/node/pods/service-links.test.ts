import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../../../kubernetes/service.ts';
import { serviceLinks } from './service-links.ts';

const service = (name: string, spec: ServiceSpec): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec,
});

test('a Service is a host, ports by number and by name, and links', () => {
  const database = service('my-database', {
    clusterIP: '10.96.0.7',
    ports: [
      { name: 'sql', port: 5432 },
      { name: 'lookup-udp', port: 53, protocol: 'UDP' },
    ],
  });

  assert.deepEqual(Object.fromEntries(serviceLinks([database])), {
    MY_DATABASE_SERVICE_HOST: '10.96.0.7',
    MY_DATABASE_SERVICE_PORT: '5432',
    MY_DATABASE_SERVICE_PORT_SQL: '5432',
    MY_DATABASE_SERVICE_PORT_LOOKUP_UDP: '53',
    MY_DATABASE_PORT: 'tcp://10.96.0.7:5432',
    MY_DATABASE_PORT_5432_TCP: 'tcp://10.96.0.7:5432',
    MY_DATABASE_PORT_5432_TCP_PROTO: 'tcp',
    MY_DATABASE_PORT_5432_TCP_PORT: '5432',
    MY_DATABASE_PORT_5432_TCP_ADDR: '10.96.0.7',
    MY_DATABASE_PORT_53_UDP: 'udp://10.96.0.7:53',
    MY_DATABASE_PORT_53_UDP_PROTO: 'udp',
    MY_DATABASE_PORT_53_UDP_PORT: '53',
    MY_DATABASE_PORT_53_UDP_ADDR: '10.96.0.7',
  });
});

test('an address of IPv6 stands in brackets in an URL, and alone elsewhere', () => {
  const links = serviceLinks([service('web', { clusterIP: 'fd00::7', ports: [{ port: 80 }] })]);

  assert.equal(links.get('WEB_PORT'), 'tcp://[fd00::7]:80');
  assert.equal(links.get('WEB_SERVICE_HOST'), 'fd00::7');
});

test('headless ones and those of another name have none', () => {
  const headless = service('headless', { clusterIP: 'None', ports: [{ port: 80 }] });
  const external = service('external', { type: 'ExternalName' });

  assert.deepEqual([...serviceLinks([headless, external])], []);
});
