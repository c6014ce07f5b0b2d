import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../src/errors/product-error.ts';
import { parseNodeArgument } from './parse-node.ts';

test('a node is parsed from the command line', () => {
  assert.deepEqual(parseNodeArgument('sim-1'), { name: 'sim-1' });
  assert.deepEqual(parseNodeArgument('sim-1=z1'), { name: 'sim-1', zone: 'z1' });
  for (const text of ['', '=z', 'Sim', 'a b', 'sim=', 'sim=z=1', 'sim=z 1', 'a/b']) {
    assert.throws(
      () => parseNodeArgument(text),
      (error) => isProductError(error, 'INVALID_ARGUMENT'),
    );
  }
});
