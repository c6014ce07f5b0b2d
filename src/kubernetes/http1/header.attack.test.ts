import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { encodeRequest } from './encode-request.ts';
import { MalformedResponse, parseResponseHead } from './response-head.ts';

const headOf = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines].join('\r\n');

test('60,000 blanks in an answer do not stop the CPI', () => {
  const blanks = ' \t'.repeat(30_000);
  assert.deepEqual(parseResponseHead(headOf(`x:${blanks}a${blanks}b${blanks}`)).headers, {
    __proto__: null,
    x: `a${blanks}b`,
  });
  assert.throws(() => parseResponseHead(headOf(`x:${blanks}\n`)), MalformedResponse);
});

test('a line break or NUL inside a header of an answer is refused', () => {
  for (const line of ['x: a\nset-cookie: b', 'x: a\rb', 'x: a\0b', 'x\n: a', 'x\0: a', ' x: a', 'x', ': a']) {
    assert.throws(() => parseResponseHead(headOf(line)), MalformedResponse, JSON.stringify(line));
  }
});

test('a line break, NUL or colon in the name of a header of ours is refused', () => {
  const url = new URL('https://localhost/');
  for (const name of ['x\r\ny', 'x\ny', 'x\0', 'x: y', '', 'x y']) {
    assert.throws(
      () => encodeRequest({ method: 'GET', url, headers: { [name]: 'a' }, body: undefined }),
      (error) => isProductError(error, 'INVALID_CONFIG'),
      JSON.stringify(name),
    );
  }
});
