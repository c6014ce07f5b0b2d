import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { checkout } from '../support/embedded-environment.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutNodes } from './test-cluster.ts';

const files = ['hot', 'ephemeral-disk', 'networks'].map((name) => `test/cluster/${name}.test.ts`);

const run = promisify(execFile);

describeCluster('the suites on a cluster that KUBECONFIG names', (world) => {
  test(
    'with KUBECONFIG set, disks are attached and detached, and tests that need the nodes skip with the reason',
    withoutNodes,
    async () => {
      const { kubectl, stemcell } = world().cluster;
      const [program = ''] = kubectl;
      const {
        BOSH_KUBERNETES_TEST_CLUSTER: _own,
        BOSH_KUBERNETES_TEST_KUBECONFIG: kubeconfig,
        NODE_TEST_CONTEXT: _inside,
        // Otherwise CI would run those files again for a failure of this file.
        FAILED_TEST_FILES: _ofCi,
        // The same tests use these addresses at the same time.
        CONFORMANCE_ADDRESSES: _used,
        ...environment
      } = process.env;
      const { stdout } = await run(
        process.execPath,
        [join(checkout, 'test', 'cluster', 'main.ts'), ...files],
        {
          env: {
            ...environment,
            KUBECONFIG: kubeconfig,
            PATH: `${dirname(program)}:${environment['PATH'] ?? ''}`,
            CONFORMANCE_STEMCELL: stemcell.image,
            CONFORMANCE_STORAGE_CLASS: 'loop',
            CONFORMANCE_WAITING_STORAGE_CLASS: 'loop-wait',
          },
        },
      );
      const passed = Number(/^(\d+) passed, 0 failed, /mu.exec(stdout)?.[1]);
      assert.ok(passed >= 5, stdout);
      assert.match(stdout, /needs the nodes of the suite's own cluster/u);
    },
  );
});
