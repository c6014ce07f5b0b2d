import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { encodeRequest } from './encode-request.ts';

const url = new URL('https://[::1]:6443/prefix/api?a=b');

test('writes head and body with the length in bytes', () => {
  const request = encodeRequest({ method: 'POST', url, headers: { Accept: 'text/plain' }, body: 'ä' });

  assert.equal(
    Buffer.from(request).toString('utf8'),
    'POST /prefix/api?a=b HTTP/1.1\r\nHost: [::1]:6443\r\nAccept: text/plain\r\nContent-Length: 2\r\n\r\nä',
  );
});

test('writes no length without a body', () => {
  const request = encodeRequest({ method: 'GET', url, headers: {}, body: undefined });

  assert.equal(
    Buffer.from(request).toString('utf8'),
    'GET /prefix/api?a=b HTTP/1.1\r\nHost: [::1]:6443\r\n\r\n',
  );
});

test('refuses a value that would end its line, and does not quote it', () => {
  for (const value of ['Bearer s3cret\r\nX: y', 'Bearer s3cret\n', 'Bearer ä']) {
    assert.throws(
      () => encodeRequest({ method: 'GET', url, headers: { Authorization: value }, body: undefined }),
      (error) =>
        isProductError(error, 'INVALID_CONFIG') &&
        error.message.includes('Authorization') &&
        !error.message.includes('s3cret'),
    );
  }
});
