import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProductError, isProductError } from '../errors/product-error.ts';
import { errorChain, withContext } from './error-chain.ts';

test('an error names its steps from the outermost inwards and keeps the innermost code', async () => {
  const failing = withContext('Deploying', () =>
    withContext("Creating instance 'g/0'", () => Promise.reject(new ProductError('VM_NOT_FOUND', 'no VM'))),
  );

  const error: unknown = await failing.catch((caught: unknown) => caught);

  assert.ok(isProductError(error, 'VM_NOT_FOUND'));
  assert.deepEqual(errorChain(error), ['Deploying', "Creating instance 'g/0'", 'no VM']);
});

test('a programmer error passes unchanged', async () => {
  const bug = new TypeError('undefined is not a function');

  await assert.rejects(
    withContext('Deploying', () => Promise.reject(bug)),
    bug,
  );
});
