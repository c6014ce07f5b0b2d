import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { test } from 'node:test';
import { vmLogDirectory } from './embedded-cluster.ts';

test("the embedded cluster's logs are named for its own kubeconfig only, however its path is written", () => {
  const own = '/home/one/cluster/kubeconfig';
  for (const [kubeconfig, logs] of [
    [own, '/home/one/cluster/logs'],
    [relative(process.cwd(), own), '/home/one/cluster/logs'],
    ['/home/two/cluster/kubeconfig', undefined],
  ] as const)
    assert.equal(vmLogDirectory(kubeconfig, '/home/one/cluster'), logs, kubeconfig);
});
