import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkout } from '../support/embedded-line.ts';
import { groupsOf, suites, suitesBelow } from './suites.ts';

test('suites that trouble nodes run alone, the contract and the conformance suite after them', () => {
  const files = ['hot', 'lost-node', 'networks'].map((name) => `test/cluster/${name}.test.ts`);
  assert.deepEqual(groupsOf([...files, 'test/conformance/vms.test.ts']), [
    { files: ['test/cluster/hot.test.ts', 'test/cluster/networks.test.ts'], concurrency: 3 },
    { files: ['test/cluster/lost-node.test.ts'], concurrency: 1 },
    { files: ['test/conformance/vms.test.ts'], concurrency: 1 },
  ]);
  assert.deepEqual(groupsOf([]), []);
});

test('a real cluster is asked by the whole contract but what is about a server of ours', () => {
  const files = suites.flatMap((path) => suitesBelow(checkout, path));
  const contract = files.filter((file) => file.startsWith('test/contract/'));
  for (const name of ['access', 'endpoints', 'nodes', 'real-cluster', 'volumes'])
    assert.ok(contract.includes(`test/contract/${name}.test.ts`), name);
  assert.ok(!contract.includes('test/contract/crash.test.ts'));
});
