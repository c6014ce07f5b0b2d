import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import type { ErrorCode } from '../../errors/error-table.ts';
import { isProductError } from '../../errors/product-error.ts';
import { Field } from '../../platform/field.ts';
import {
  addressBits,
  addressOf,
  bitsOf,
  canonicalAddress,
  familyOf,
  maskLength,
} from '../../platform/ip-address.ts';
import { multusInterfaces } from './multus.ts';
import { type Networks, nameServers, parseNetworks } from './networks.ts';

const parse = (networks: unknown): Networks =>
  parseNetworks(new Field(networks, 'networks', 'INVALID_ARGUMENT'));
const four = {
  type: 'manual',
  ip: '10.0.0.5',
  netmask: '255.255.255.0',
  prefix: '32',
  default: ['dns', 'gateway'],
};
const six = { type: 'manual', ip: 'fd00:0:0::5', netmask: 'ffff:ffff:ffff:ffff::', prefix: '128' };
const attachedTo = (name: string): object => ({ cloud_properties: { network_attachment: name } });

const accepted: readonly [string, Record<string, unknown>, (string | undefined)[]][] = [
  ['one dynamic', { a: { type: 'dynamic', prefix: '32', cloud_properties: {} } }, [undefined]],
  [
    'a missing type is manual, null cloud_properties are none',
    { a: { ip: '10.0.0.5', cloud_properties: null } },
    ['10.0.0.5'],
  ],
  [
    "the CLI's manual network has no prefix",
    { a: { type: 'manual', ip: '10.0.0.5', gateway: '10.0.0.1' } },
    ['10.0.0.5'],
  ],
  ['two families are dual stack', { a: four, b: six }, ['10.0.0.5', 'fd00::5']],
  [
    'one nic_group',
    { a: { ...four, nic_group: '1' }, b: { ...six, nic_group: '1' } },
    ['10.0.0.5', 'fd00::5'],
  ],
];

for (const [name, given, addresses] of accepted) {
  test(`accepted: ${name}`, () => {
    const networks = parse(given);
    assert.deepEqual(
      networks.podNetworks.map(({ address }) => address),
      addresses,
    );
    assert.deepEqual(networks.given, given);
  });
}

const dnsOf = (networks: Record<string, unknown>): readonly string[] => nameServers(parse(networks));

test('name servers are those of the only network, or of the one that is the default for dns', () => {
  const here = { ...four, dns: ['10.0.0.2'] };
  const there = { ip: '10.1.0.5', dns: ['10.1.0.2'], ...attachedTo('wire') };
  assert.deepEqual(dnsOf({ a: { ...here, default: [] } }), ['10.0.0.2']);
  assert.deepEqual(dnsOf({ a: here, b: there }), ['10.0.0.2']);
  assert.deepEqual(dnsOf({ a: { ...here, default: ['gateway'] }, b: { ...there, default: ['dns'] } }), [
    '10.1.0.2',
  ]);
  assert.deepEqual(dnsOf({ a: { ...here, default: [] }, b: there }), []);
  assert.deepEqual(dnsOf({ a: { ...four, dns: null } }), []);
});

const refused: readonly [string, unknown, ErrorCode, RegExp][] = [
  [
    'two of one family',
    { a: four, b: { ...four, ip: '10.0.0.6' } },
    'NOT_SUPPORTED',
    /a, b were requested.*network_attachment/u,
  ],
  ['dynamic and manual', { a: { type: 'dynamic' }, b: six }, 'NOT_SUPPORTED', /one interface/u],
  [
    'two nic_groups',
    { a: { ...four, nic_group: '1' }, b: { ...six, nic_group: '2' } },
    'NOT_SUPPORTED',
    /one interface/u,
  ],
  [
    'a block of addresses',
    { a: { ...six, prefix: '80' } },
    'NOT_SUPPORTED',
    /a\.prefix: a pod gets single addresses/u,
  ],
  [
    'a vip alone',
    { a: { type: 'vip', ip: '1.2.3.4', cloud_properties: { vip: { ports: [{ port: 1 }] } } } },
    'INVALID_ARGUMENT',
    /no network but vip/u,
  ],
  [
    'ports of a vip on another network',
    { a: { ...four, cloud_properties: { vip: { ports: [{ port: 1 }] } } } },
    'INVALID_ARGUMENT',
    /is for networks of type vip/u,
  ],
  [
    'a vip on an interface',
    {
      a: four,
      b: {
        type: 'vip',
        ip: '1.2.3.4',
        cloud_properties: { vip: { ports: [{ port: 1 }] }, network_attachment: 'a' },
      },
    },
    'INVALID_ARGUMENT',
    /are for interfaces/u,
  ],
  [
    'a mask of the other family',
    { a: { ...four, netmask: 'ffff::' } },
    'INVALID_ARGUMENT',
    /a\.netmask is not a netmask of IPv4/u,
  ],
  ['a mask with a hole', { a: { ...four, netmask: '255.0.255.0' } }, 'INVALID_ARGUMENT', /netmask/u],
  [
    'an address with a zone',
    { a: { ip: 'fe80::1%eth0' } },
    'INVALID_ARGUMENT',
    /a\.ip is not an IP address/u,
  ],
  [
    'an unknown cloud property',
    { a: { ...four, cloud_properties: { subnet: 'x' } } },
    'INVALID_ARGUMENT',
    /"subnet" \(known are network_attachment/u,
  ],
  [
    'a definition that cannot be one',
    { a: { ...four, ...attachedTo('A b') } },
    'INVALID_ARGUMENT',
    /network_attachment must be/u,
  ],
  ['a list', [], 'INVALID_ARGUMENT', /must be an object/u],
];

for (const [name, given, code, message] of refused) {
  test(`refused: ${name}`, () => {
    assert.throws(
      () => parse(given),
      (error) => isProductError(error, code) && message.test(error.message),
    );
  });
}

test('networks of Multus: one interface for each, or for each nic_group of a definition; the default route if it is requested', () => {
  const { podNetworks, multusNetworks } = parse({
    own: { type: 'dynamic' },
    a: { ...four, ...attachedTo('one'), nic_group: 1, gateway: '10.0.0.1' },
    b: { ...six, ...attachedTo('one'), nic_group: 1 },
    c: { ...four, ip: '10.0.0.6', default: [], ...attachedTo('other/one') },
    d: { type: 'dynamic', ...attachedTo('one') },
  });
  assert.equal(podNetworks.length, 1);
  assert.deepEqual(multusInterfaces(multusNetworks, 'bosh'), [
    { name: 'one', namespace: 'bosh', ips: ['10.0.0.5/24', 'fd00::5/64'], 'default-route': ['10.0.0.1'] },
    { name: 'one', namespace: 'other', ips: ['10.0.0.6/24'] },
    { name: 'one', namespace: 'bosh' },
  ]);
});

test('an address of Multus without a netmask is refused', () => {
  const { multusNetworks } = parse({ a: { ip: '10.0.0.5', ...attachedTo('one') } });
  assert.throws(() => multusInterfaces(multusNetworks, 'bosh'), /network 'a': .* needs a netmask/u);
});

const ipv6 = fc.ipV6();

test('addresses have one spelling, which survives bits and back', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), ipv6), (address) => {
      const family = familyOf(address);
      assert(family !== undefined);
      const canonical = canonicalAddress(address);
      assert.equal(canonicalAddress(canonical), canonical);
      assert.equal(addressOf(bitsOf(address, family), family), canonical);
    }),
  );
});

test('the length of a mask is the number of its ones', () => {
  fc.assert(
    fc.property(fc.constantFrom('IPv4' as const, 'IPv6' as const), fc.nat(128), (family, given) => {
      const bits = addressBits(family);
      const length = given % (bits + 1);
      const mask = addressOf('1'.repeat(length) + '0'.repeat(bits - length), family);
      assert.equal(maskLength(mask, family), length);
    }),
  );
});
