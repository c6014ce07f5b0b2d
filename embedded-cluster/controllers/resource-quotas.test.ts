import { test } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { resourceQuotas } from '../../src/kubernetes/resources.ts';
import type { ResourceQuota } from '../api-server/admission/quota.ts';
import { at, startCluster } from './testing/cluster-fixture.ts';

test('a quota for a kind that is not served is counted once, and not every few seconds', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(resourceQuotas, {
    metadata: { name: 'jobs', namespace: 'bosh' },
    spec: { hard: { 'count/jobs.batch': '1' } },
  } as KubernetesObject);
  const quota = at(resourceQuotas, 'jobs');
  await cluster.until('a count', async () => {
    const found = await cluster.find<ResourceQuota>(quota);
    return found?.status?.used?.['count/jobs.batch'];
  });
  // A conflict of two writes is retried after a moment.
  let quietTurns = 0;
  await cluster.until('a while in which nothing is to be done later', async () => {
    quietTurns = cluster.clock.pending.length === 0 ? quietTurns + 1 : 0;
    return quietTurns === 60;
  });
});
