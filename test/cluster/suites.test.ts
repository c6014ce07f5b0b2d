import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf } from './suites.ts';

test('suites that trouble nodes run alone, the contract and the conformance suite after them', () => {
  const files = ['hot', 'lost-node', 'networks'].map((name) => `test/cluster/${name}.test.ts`);
  assert.deepEqual(groupsOf([...files, 'test/conformance/vms.test.ts']), [
    { files: ['test/cluster/hot.test.ts', 'test/cluster/networks.test.ts'], concurrency: 3 },
    { files: ['test/cluster/lost-node.test.ts'], concurrency: 1 },
    { files: ['test/conformance/vms.test.ts'], concurrency: 1 },
  ]);
  assert.deepEqual(groupsOf([]), []);
});
