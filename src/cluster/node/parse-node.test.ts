import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { parseNode } from './parse-node.ts';

test('a node on the command line', () => {
  assert.deepEqual(parseNode('sim-1', 'node'), { name: 'sim-1' });
  assert.deepEqual(parseNode('sim-1=z1', 'node'), { name: 'sim-1', zone: 'z1' });
  for (const text of ['', '=z', 'Sim', 'a b', 'sim=', 'sim=z=1', 'sim=z 1', 'a/b']) {
    assert.throws(
      () => parseNode(text, 'node'),
      (error) => isProductError(error, 'INVALID_ARGUMENT'),
    );
  }
});
