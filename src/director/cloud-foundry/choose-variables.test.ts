import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseVariables, type ClusterValues, type NamedValues } from './choose-variables.ts';

const none: NamedValues = {
  systemDomain: undefined,
  ephemeralStorageClass: undefined,
  nodeAddress: undefined,
};
const cluster: ClusterValues = { address: '192.0.2.1', zones: ['a', 'b', 'c', 'd'], classes: [] };

test('an address that other machines do not reach is refused', () => {
  const [v4, v6] = [
    ['0.0.0.0', '127.0.0.1', '169.254.1.1', '224.0.0.1', '255.255.255.255'],
    ['::', '0:0::1', 'FE80::1', 'ff02::1'],
  ];
  for (const nodeAddress of [...v4, ...v6])
    assert.throws(
      () => chooseVariables('smallest', { ...none, nodeAddress }, undefined, cluster),
      /is not an address at which other machines reach a node/u,
      nodeAddress,
    );
});

test('the domain of an IPv6 address has valid labels', () => {
  const domainOf = (nodeAddress: string): string | undefined =>
    chooseVariables('smallest', { ...none, nodeAddress }, undefined, cluster)['system_domain'];
  assert.equal(domainOf('2001:DB8:0:0::A'), '2001-db8--a.sslip.io');
  assert.equal(domainOf('::2:3'), '0--2-3.sslip.io');
  assert.equal(domainOf('64:ff9b::'), '64-ff9b--0.sslip.io');
});

test('a domain of the recorded address follows a new one until it is deployed, and another domain stays', () => {
  const domainOf = (isDeployed: boolean, system_domain: string): string | undefined => {
    const earlier = {
      ...({ layout: 'smallest', isDeployed } as const),
      variables: { node_address: '192.0.2.1', system_domain },
    };
    return chooseVariables('smallest', { ...none, nodeAddress: '192.0.2.2' }, earlier, cluster)[
      'system_domain'
    ];
  };
  assert.equal(domainOf(false, '192.0.2.1.sslip.io'), '192.0.2.2.sslip.io');
  assert.equal(domainOf(true, '192.0.2.1.sslip.io'), '192.0.2.1.sslip.io');
  assert.equal(domainOf(false, 'cf.example.com'), 'cf.example.com');
});

test('recorded zones are kept if they are deployed or the present ones are unknown', () => {
  const zonesOf = (isDeployed: boolean, zones: readonly string[] | undefined): (string | undefined)[] => {
    const variables = { system_domain: 'cf.example.com', z1_zone: 'x', z2_zone: 'y', z3_zone: 'z' };
    const earlier = { ...({ layout: 'highly-available' } as const), isDeployed, variables };
    const chosen = chooseVariables('highly-available', none, earlier, { ...cluster, zones });
    return [chosen['z1_zone'], chosen['z2_zone'], chosen['z3_zone']];
  };
  assert.deepEqual(zonesOf(true, ['a', 'b', 'c']), ['x', 'y', 'z']);
  assert.deepEqual(zonesOf(false, undefined), ['x', 'y', 'z']);
  assert.deepEqual(zonesOf(false, ['a', 'b', 'c', 'd']), ['a', 'b', 'c']);
  assert.deepEqual(zonesOf(false, ['a']), ['a', undefined, undefined]);
});
