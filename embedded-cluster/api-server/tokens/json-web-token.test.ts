import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { signToken, verifyToken, type TokenKey } from './json-web-token.ts';

const newKey = (): TokenKey => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  verifiedTokens: new Map(),
});

const tampered = (token: string): string => {
  const [header = '', , signature = ''] = token.split('.');
  const claims = Buffer.from(JSON.stringify({ sub: 'somebody else' })).toString('base64url');
  return [header, claims, signature].join('.');
};

test('a valid token gives its claims each time', () => {
  const key = newKey();
  const token = signToken(key, { sub: 'one' });
  const first = verifyToken(key, token);
  assert.deepEqual(first, { sub: 'one' });
  assert.equal(verifyToken(key, token), first, 'its signature is computed once');
});

test('invalid tokens stay invalid after a valid one was verified', () => {
  const key = newKey();
  const token = signToken(key, { sub: 'one' });
  verifyToken(key, token);
  for (const wrong of [
    tampered(token),
    `${token}.more`,
    token.slice(0, -4),
    `${token.slice(0, -4)}AAAA`,
    '',
  ]) {
    for (const round of ['first', 'second'])
      assert.equal(verifyToken(key, wrong), undefined, `${wrong} ${round}`);
  }
});

test('a token of one key is invalid for another key', () => {
  const key = newKey();
  const token = signToken(key, { sub: 'one' });
  verifyToken(key, token);
  assert.equal(verifyToken(newKey(), token), undefined);
});

test('more tokens than the cache holds are all valid', () => {
  const key = newKey();
  const tokens = Array.from({ length: 300 }, (_, number) => signToken(key, { number }));
  for (const round of [1, 2])
    for (const [number, token] of tokens.entries())
      assert.deepEqual(verifyToken(key, token), { number }, `round ${round}`);
});
