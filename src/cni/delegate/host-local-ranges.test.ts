import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { openRanges } from './host-local-ranges.ts';

test('opens the set that contains the address, and keeps gateway, routes and store', () => {
  const ipam = {
    type: 'host-local',
    dataDir: '/var/lib/cni/networks',
    routes: [{ dst: '0.0.0.0/0' }],
    ranges: [
      [
        { subnet: '10.88.0.0/16', rangeStart: '10.88.1.0', rangeEnd: '10.88.1.255', gateway: '10.88.0.254' },
        { subnet: '10.88.0.0/16', rangeStart: '10.88.3.0', rangeEnd: '10.88.3.255' },
      ],
      [{ subnet: 'fd00::/64', rangeStart: 'fd00::1:0', rangeEnd: 'fd00::1:ffff' }],
    ],
  };
  const opened = [{ subnet: '10.88.0.0/16', gateway: '10.88.0.254' }];
  assert.deepEqual(openRanges(ipam, ['10.88.200.1']), { ...ipam, ranges: [opened, ipam.ranges[1]] });
  assert.deepEqual(openRanges(ipam, ['fd00::7']), {
    ...ipam,
    ranges: [ipam.ranges[0], [{ subnet: 'fd00::/64' }]],
  });
});

test('reads the old form with one range', () => {
  const ipam = { type: 'host-local', subnet: '10.1.0.0/24', rangeStart: '10.1.0.100', gateway: '10.1.0.1' };
  assert.deepEqual(openRanges(ipam, ['10.1.0.7']), {
    type: 'host-local',
    ranges: [[{ subnet: '10.1.0.0/24', gateway: '10.1.0.1' }]],
  });
});

test('an address is in the subnets of its own prefix and in no others', () => {
  const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const written = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
  fc.assert(
    fc.property(address, address, fc.integer({ min: 0, max: 32 }), (one, other, length) => {
      const ipam = { ranges: [[{ subnet: `${written(one)}/${length}` }]] };
      assert.deepEqual(openRanges(ipam, [written(one)]), ipam);
      const shared = Math.floor(one / 2 ** (32 - length)) === Math.floor(other / 2 ** (32 - length));
      if (shared) assert.deepEqual(openRanges(ipam, [written(other)]), ipam);
      else assert.throws(() => openRanges(ipam, [written(other)]), /is in none of the subnets/u);
    }),
  );
});

test('refuses ranges that host-local would not understand', () => {
  for (const ranges of [
    1,
    [1],
    [[]],
    [[{}]],
    [[{ subnet: '10.0.0.0' }]],
    [[{ subnet: '10.0.0.0/33' }]],
    [[{ subnet: 'x/8' }]],
  ])
    assert.throws(() => openRanges({ ranges }, ['10.0.0.7']), {
      code: JSON.stringify(ranges) === '[[]]' ? 102 : 7,
    });
});
