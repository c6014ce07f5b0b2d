import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSameAddress, parseIpRange } from './ip-range.ts';

test('a range has a mask, a first and a last address', () => {
  const range = parseIpRange('127.64.3.9/10');
  assert.equal(range?.netmask, '255.192.0.0');
  assert.equal(range?.first, '127.64.0.0');
  assert.equal(range?.last, '127.127.255.255');
  assert.equal(range?.contains('127.100.1.2'), true);
  assert.equal(range?.contains('127.128.0.0'), false);
  assert.equal(range?.contains('::1'), false);
});

test('IPv6 ranges are read', () => {
  const range = parseIpRange('fd00:1::/64');
  assert.equal(range?.netmask, 'ffff:ffff:ffff:ffff:0000:0000:0000:0000');
  assert.equal(range?.last, 'fd00:0001:0000:0000:ffff:ffff:ffff:ffff');
  assert.equal(range?.contains('fd00:1::5'), true);
  assert.equal(range?.contains('fd00:2::5'), false);
});

test('different spellings of one address are equal', () => {
  assert.equal(isSameAddress('fd00::1', 'FD00:0:0:0:0:0:0:1'), true);
  assert.equal(isSameAddress('::ffff:10.0.0.1', '::ffff:a00:1'), true);
  assert.equal(isSameAddress('10.0.0.1', '10.0.0.2'), false);
  assert.equal(isSameAddress('10.0.0.1', 'fe80::1%eth0'), false);
  assert.equal(isSameAddress('fe80::1', 'fe80::1%eth0'), false);
});

test('an invalid range is refused', () => {
  for (const text of [
    '',
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    'x/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    'fd00::/129',
  ]) {
    assert.equal(parseIpRange(text), undefined, text);
  }
});

test('property: the first, the last and every address between are in the range', () => {
  const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
  fc.assert(
    fc.property(octets, fc.nat(32), (address, prefix) => {
      const range = parseIpRange(`${address.join('.')}/${prefix}`);
      assert.ok(
        range?.contains(range.first) && range.contains(range.last) && range.contains(address.join('.')),
      );
    }),
  );
});
