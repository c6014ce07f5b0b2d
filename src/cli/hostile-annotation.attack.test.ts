import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLocalApi } from '../cluster/api/open-local-api.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { pods } from '../kubernetes/resources.ts';
import { listBoshObjects } from './bosh-objects.ts';

test('a pod that somebody annotated with what is no JSON, or with a long name, leaves status readable', async (t) => {
  const api = await openLocalApi({ directory: await scratchDirectory(t) });
  t.after(() => api.close());
  const names = { a: '{"name"', b: JSON.stringify({ name: 'x'.repeat(100_000) }), c: '{"name":"web/0"}' };
  for (const [name, text] of Object.entries(names))
    await api.create(pods, {
      metadata: {
        name,
        namespace: 'bosh',
        labels: { 'bosh.cloudfoundry.org/kind': 'vm' },
        annotations: { 'bosh.cloudfoundry.org/metadata': text },
      },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    } as unknown as KubernetesObject);
  const { vms } = await listBoshObjects(api, 'bosh');
  assert.deepEqual(
    vms.map(({ instance }) => instance),
    ['-', `${'x'.repeat(200)}…`, 'web/0'],
  );
});
