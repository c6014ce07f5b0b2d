import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VmItem } from '../../inventory/inventory.ts';
import { describeChanges } from './describe-changes.ts';
import type { StatusView } from './status-tables.ts';

function viewOf(vms: readonly Partial<VmItem>[]): StatusView {
  const inventory = { vms: vms as VmItem[], disks: [], snapshots: [], networks: [] };
  return { inventory, problems: [], unread: [], unknownNamespaces: [], now: 0 };
}

test('a VM that gets its name is still the same VM', () => {
  const name = { deployment: undefined, instance: undefined, id: undefined, group: undefined };
  const unnamed = {
    ...{ cid: 'vm-1', name: { ...name, isOfCreateEnv: false }, state: 'Running', restarts: 0 },
    ...{ node: 'node-1', addresses: ['10.1.0.2'] },
  };
  const named = { ...unnamed, name: { ...unnamed.name, deployment: 'dep', instance: 'web/0' } };

  assert.deepEqual(describeChanges(viewOf([unnamed]), viewOf([named])), [
    'VM vm-1: Running, node-1, 10.1.0.2 -> dep/web/0, Running, node-1, 10.1.0.2',
  ]);
  assert.deepEqual(describeChanges(viewOf([named]), viewOf([])), [
    'VM vm-1: dep/web/0, Running, node-1, 10.1.0.2 -> deleted',
  ]);
});
