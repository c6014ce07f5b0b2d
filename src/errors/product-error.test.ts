import assert from 'node:assert/strict';
import { test } from 'node:test';
import type * as Module from './product-error.ts';
import { isProductError, ProductError } from './product-error.ts';

test('an error of another bundle, which has its own copy of the class, is a ProductError', async () => {
  const copy = (await import(new URL('./product-error.ts?copy', import.meta.url).href)) as typeof Module;
  const error = new copy.ProductError('DEADLINE', 'late');
  assert.notEqual(copy.ProductError, ProductError);
  assert.ok(isProductError(error) && isProductError(error, 'DEADLINE'));
  assert.ok(!isProductError(error, 'STORE_UNAVAILABLE'));
});

test('other errors are not ProductErrors', () => {
  for (const error of [
    new Error('x'),
    Object.assign(new Error('x'), { code: 'DEADLINE' }),
    { name: 'ProductError' },
  ])
    assert.ok(!isProductError(error));
});
