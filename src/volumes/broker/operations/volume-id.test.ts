import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goJson, volumeId } from './volume-id.ts';

const options = {
  version: '4.1',
  source: 'nfs://server/export',
  uid: '1000',
  gid: '1000',
  auto_cache: 'true',
};

test('the md5 form is the one that nfsbroker answered for the same options', () => {
  // reference volume-services.md 2.5, made by that broker
  assert.match(volumeId('i', options, 'md5'), /^i-d6d375f5[0-9a-f]{20}216f$/u);
});

test('the HMAC form depends on key, instance and each option, and not on their order', () => {
  const scheme = { hmacKey: Buffer.alloc(32, 1) };
  const id = volumeId('i', options, scheme);
  assert.equal(id, volumeId('i', Object.fromEntries(Object.entries(options).toReversed()), scheme));
  const others = [
    volumeId('i', options, { hmacKey: Buffer.alloc(32, 2) }),
    volumeId('j', options, scheme).replace(/^j/u, 'i'),
    volumeId('i', { ...options, uid: '1001' }, scheme),
  ];
  assert.equal(new Set([id, ...others]).size, 4);
  assert.match(id, /^i-[0-9a-f]{32}$/u);
});

test('texts are escaped as Go does it', () => {
  assert.equal(goJson({ b: '<&>', a: '\u2028"é' }), '{"a":"\\u2028\\"é","b":"\\u003c\\u0026\\u003e"}');
});
