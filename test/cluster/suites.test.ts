import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '../support/embedded-environment.ts';
import { parallelGroupsOf, long, suites, suitesBelow, disruptiveSuites } from './suites.ts';

test('suites that disturb nodes run one by one on their own clusters, then the conformance and the contract', () => {
  const files = ['networks', 'hot', 'lost-node', 'restarts'].map((name) => `test/cluster/${name}.test.ts`);
  assert.deepEqual(
    parallelGroupsOf([
      ...files,
      ...['test/contract/access.test.ts', 'test/contract/nodes.test.ts'],
      ...['test/conformance/nodes.test.ts', 'test/conformance/vms.test.ts'],
    ]),
    [
      {
        cluster: 0,
        groups: [{ files: ['test/cluster/hot.test.ts', 'test/cluster/networks.test.ts'], concurrency: 5 }],
      },
      {
        cluster: 1,
        groups: [
          { files: ['test/cluster/lost-node.test.ts'], concurrency: 1 },
          { files: ['test/conformance/vms.test.ts'], concurrency: 3 },
          { files: ['test/conformance/nodes.test.ts'], concurrency: 1 },
        ],
      },
      {
        cluster: 2,
        groups: [
          { files: ['test/cluster/restarts.test.ts'], concurrency: 1 },
          { files: ['test/contract/nodes.test.ts', 'test/contract/access.test.ts'], concurrency: 3 },
        ],
      },
    ],
  );
  assert.deepEqual(parallelGroupsOf([]), []);
});

test('every suite runs in one lane', () => {
  const files = suites.flatMap((path) => suitesBelow(checkout, path));
  const ran = parallelGroupsOf(files).flatMap(({ groups }) => groups.flatMap((group) => group.files));
  assert.deepEqual(ran.toSorted(), files.toSorted());
});

test('a suite that runs only by hand is chosen only by its name', () => {
  const file = 'test/cluster/loss.long.test.ts';
  assert.ok(!suitesBelow(checkout, 'test/cluster').includes(file));
  assert.deepEqual(suitesBelow(checkout, file), [file]);
});

test('each named suite exists', () => {
  for (const name of [...disruptiveSuites.flat(), ...long]) {
    const file = name === 'crash' ? 'csi/crash' : name;
    assert.ok(existsSync(join(checkout, 'test/cluster', `${file}.test.ts`)), name);
  }
});

test('the contract runs on a real cluster, without the suites that test only the embedded server', () => {
  const files = suites.flatMap((path) => suitesBelow(checkout, path));
  const contract = files.filter((file) => file.startsWith('test/contract/'));
  for (const name of ['access', 'endpoints', 'nodes', 'real-cluster', 'volumes'])
    assert.ok(contract.includes(`test/contract/${name}.test.ts`), name);
  assert.ok(!contract.includes('test/contract/crash.test.ts'));
  assert.ok(!files.includes('test/conformance/envelope.test.ts'));
  assert.ok(files.includes('test/conformance/vms.test.ts'));
});
