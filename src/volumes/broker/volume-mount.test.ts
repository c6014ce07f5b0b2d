import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringifyLikeGo, createVolumeId } from './volume-mount.ts';

const options = {
  version: '4.1',
  source: 'nfs://server/export',
  uid: '1000',
  gid: '1000',
  auto_cache: 'true',
};

const unescaped = (text: string): string =>
  text.replaceAll(/\\u(003c|003e|0026|2028|2029)/gu, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );

test('the md5 form is the id that nfsbroker returned for the same options', () => {
  // nfsbroker made this id
  assert.match(createVolumeId('i', options, 'md5'), /^i-d6d375f5[0-9a-f]{20}216f$/u);
});

test('the HMAC form depends on key, instance and each option, and not on their order', () => {
  const scheme = { hmacKey: Buffer.alloc(32, 1) };
  const id = createVolumeId('i', options, scheme);
  assert.equal(id, createVolumeId('i', Object.fromEntries(Object.entries(options).toReversed()), scheme));
  const others = [
    createVolumeId('i', options, { hmacKey: Buffer.alloc(32, 2) }),
    createVolumeId('j', options, scheme).replace(/^j/u, 'i'),
    createVolumeId('i', { ...options, uid: '1001' }, scheme),
  ];
  assert.equal(new Set([id, ...others]).size, 4);
  assert.match(id, /^i-[0-9a-f]{32}$/u);
});

test('property: the md5 form does not depend on the order, and strings escaped as in Go are read back unchanged', () => {
  const option = fc.oneof(fc.string(), fc.constantFrom('<&>', '\u2028', '😀', '"\\', 'é'));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), option, { maxKeys: 6 }), (given) => {
      const written = stringifyLikeGo(given);
      assert.doesNotMatch(written, /[<>&\u2028\u2029]/u);
      const read = JSON.parse(written) as Record<string, string>;
      assert.deepEqual({ ...read }, { ...given });
      const keys = Object.keys(given).map((key) => Buffer.from(key));
      const sorted = keys
        .toSorted((one, key) => Buffer.compare(one, key))
        .map((key) => `${JSON.stringify(key.toString())}:`);
      assert.ok(sorted.reduce((at, key) => (at < 0 ? at : unescaped(written).indexOf(key, at)), 0) >= 0);
      const other = Object.fromEntries(Object.entries(given).toReversed());
      assert.equal(createVolumeId('i', other, 'md5'), createVolumeId('i', given, 'md5'));
    }),
  );
});

test('strings are escaped as in Go', () => {
  assert.equal(
    stringifyLikeGo({ b: '<&>', a: '\u2028"é' }),
    '{"a":"\\u2028\\"é","b":"\\u003c\\u0026\\u003e"}',
  );
});
