import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { comesAndGoes } from './support/come-and-go.ts';
import { deleteVms } from './support/delete-vms.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { ownDeployer } from './support/hello-deployment.ts';
import { isHarm } from './support/is-harm.ts';
import { outlivesAttributes } from './support/outlives-attributes.ts';
import { outlivesDeploys } from './support/outlives-deploys.ts';
import { outlivesResize } from './support/outlives-resize.ts';
import { outlivesSnapshot } from './support/outlives-snapshot.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Like loss.long.test.ts, for scenarios in which not a guard of ours but the kubelet's order or the driver's
 * work protects the data. Here the driver empties a volume whenever a node stages it (its class
 * `loop-forgetful`), and each test must report the loss.
 */
describeCluster('what the data-survival tests would find of a driver that loses data, by hand', (world) => {
  const forgetful = 'loop-forgetful';
  afterEach(() => deleteVms(world()));

  // This is the first test because it counts the existing disks.
  test('create-env: the disk when a new VM comes', { ...withoutNodes, timeout: 900_000 }, () => {
    const hello = { number: 13, profile: 'privileged', attach: 'hot', deployer: ownDeployer } as const;
    return assert.rejects(outlivesDeploys(world(), { ...hello, diskClass: forgetful }), isHarm);
  });

  test('resize_disk', withoutNodes, () => assert.rejects(outlivesResize(world(), forgetful), isHarm));

  test('snapshot_disk', withoutNodes, () => assert.rejects(outlivesSnapshot(world(), forgetful), isHarm));

  test('update_disk to another VolumeAttributesClass', withoutNodes, () =>
    assert.rejects(outlivesAttributes(world(), forgetful), isHarm),
  );

  test('recreate: the first disk when the second comes, by a new pod', withoutNodes, () => {
    const life = { attach: 'recreate', number: 3, profile: 'privileged', podsBeforeTheEnd: 5 } as const;
    return assert.rejects(comesAndGoes(world(), { ...life, classes: [forgetful, 'loop'] }), isHarm);
  });
});
