import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { resourceQuotas } from '../../../kubernetes/resources.ts';
import type { ResourceQuota } from '../../api/admission/quota/admit-quota.ts';
import { at, settled, startCluster } from '../testing/cluster-fixture.ts';

test('a quota of a kind that is not served is counted once, and not again every few seconds', async (t) => {
  const { api, clock, find, until } = await startCluster(t);
  await settled();
  const before = clock.pending;
  await api.create(resourceQuotas, {
    metadata: { name: 'jobs', namespace: 'bosh' },
    spec: { hard: { 'count/jobs.batch': '1' } },
  } as KubernetesObject);
  const quota = at(resourceQuotas, 'jobs');
  await until('a count', async () => (await find<ResourceQuota>(quota))?.status?.used?.['count/jobs.batch']);
  // a conflict of two writes is tried again after a moment
  clock.advance(1000);
  await settled();
  assert.equal(clock.pending.length, before.length, clock.pending.join());
});
