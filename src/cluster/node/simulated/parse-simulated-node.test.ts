import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../../errors/product-error.ts';
import { parseSimulatedNode } from './parse-simulated-node.ts';

test('a simulated node on the command line', () => {
  assert.deepEqual(parseSimulatedNode('sim-1'), { name: 'sim-1' });
  assert.deepEqual(parseSimulatedNode('sim-1=z1'), { name: 'sim-1', zone: 'z1' });
  for (const text of ['', '=z', 'Sim', 'a b', 'sim=', 'sim=z=1', 'sim=z 1', 'a/b']) {
    assert.throws(
      () => parseSimulatedNode(text),
      (error) => isProductError(error, 'INVALID_ARGUMENT'),
    );
  }
});
