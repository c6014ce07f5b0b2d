import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseChallenge } from './challenge.ts';

const realm = 'https://auth.example/token';

test('reads the challenges of registries', () => {
  const bearer = { scheme: 'bearer', realm, service: undefined, scope: undefined };
  for (const [header, challenge] of [
    [undefined, undefined],
    ['', undefined],
    ['Negotiate', undefined],
    ['Basic', { scheme: 'basic' }],
    ['basic realm="Registry Realm", charset="UTF-8"', { scheme: 'basic' }],
    [`Bearer realm="${realm}"`, bearer],
    [`bearer REALM="${realm}"`, bearer],
    [`Bearer realm=${realm}`, bearer],
    [
      `Bearer realm="${realm}",service="a",scope="b:c:pull,push"`,
      { ...bearer, service: 'a', scope: 'b:c:pull,push' },
    ],
    [`Bearer realm="${realm}" , error="x" , service="a \\"b\\""`, { ...bearer, service: 'a "b"' }],
    [`Basic realm="x", Bearer realm="${realm}"`, bearer],
    ['Bearer realm="no url"', undefined],
    ['Bearer service="a"', undefined],
    ['Bearer realm="no url", Basic realm="x"', { scheme: 'basic' }],
  ] as const) {
    assert.deepEqual(parseChallenge(header), challenge, header);
  }
});

test('property: a challenge is read back as it was written', () => {
  // The printable ASCII characters that a quoted string may contain (RFC 9110, 5.6.4).
  const words = fc.string({ unit: 'grapheme-ascii' });
  const quoted = (text: string): string => `"${text.replaceAll(/["\\]/gu, '\\$&')}"`;
  fc.assert(
    fc.property(words, words, (service, scope) => {
      const header = `Bearer realm=${quoted(realm)},service=${quoted(service)},scope=${quoted(scope)}`;
      assert.deepEqual(parseChallenge(header), { scheme: 'bearer', realm, service, scope });
    }),
  );
});

test('property: no header makes the parser fail or hang', () => {
  const noise = fc.oneof(
    fc.string({ maxLength: 500 }),
    fc
      .array(fc.constantFrom('Bearer ', 'Basic', 'realm=', '"', '\\', ',', ' ', realm, 'x='), {
        maxLength: 200,
      })
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(noise, (header) => {
      parseChallenge(header);
    }),
    { numRuns: 2000 },
  );
});
