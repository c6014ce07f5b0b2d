import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyState, type DeploymentState, type DiskRecord } from '../state/deployment-state.ts';
import { planDisk } from './plan-disk.ts';

const desired = {
  size: 64,
  cloudProperties: { type: 'fast' },
};
const disk: DiskRecord = { id: 'd1', cid: 'disk-1', size: 64, cloud_properties: { type: 'fast' } };
const state = (disks: DiskRecord[], current = ''): DeploymentState => ({
  ...emptyState,
  disks,
  current_disk_id: current,
});

test('a disk is created if none is recorded', () => {
  assert.deepEqual(planDisk(state([]), desired), { action: 'create', desired });
});

test('the current disk is attached again, or migrated with --recreate-persistent-disks', () => {
  assert.deepEqual(planDisk(state([disk], 'd1'), desired), { action: 'attach', disk });
  assert.deepEqual(planDisk(state([disk], 'd1'), desired, true), {
    action: 'migrate',
    disk,
    desired,
  });
});

test('a disk that was created and never attached is used instead of a second one', () => {
  assert.deepEqual(planDisk(state([disk]), desired), { action: 'attach', disk });
});

test('a leftover disk of another size or type is not used', () => {
  assert.equal(planDisk(state([{ ...disk, size: 32 }]), desired).action, 'create');
});

test('a disk that the manifest no longer has is kept', () => {
  assert.deepEqual(planDisk(state([disk], 'd1'), undefined), { action: 'none' });
  assert.deepEqual(planDisk(state([disk], 'd1'), { ...desired, size: 0 }), { action: 'none' });
});

test('a current disk of another size or type is migrated, but never to a leftover disk', () => {
  const leftover = { ...disk, id: 'd2', cid: 'disk-2', size: 128 };
  const records = state([disk, leftover], 'd1');
  for (const change of [{ size: 128 }, { size: 32 }, { cloudProperties: {} }]) {
    const changed = { ...desired, ...change };
    assert.deepEqual(planDisk(records, changed), { action: 'migrate', disk, desired: changed });
  }
});
