import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { survivesAttachDetachCycle } from './support/agent-scenarios.ts';
import { deleteVms } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { ownDeployer, survivesDeploys } from './support/hello-deployment.ts';
import { isDataLoss } from './support/assert-intact.ts';
import { survivesAttributeChange, survivesResize, survivesSnapshot } from './support/change-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Like loss.long.test.ts, for scenarios in which not a guard of ours but the kubelet's order or the driver's
 * work protects the data. Here the driver empties a volume whenever a node stages it (its class
 * `loop-forgetful`), and each test must report the loss.
 */
describeCluster('a driver that loses data is detected by the data-survival tests (by hand)', (world) => {
  const forgetful = 'loop-forgetful';
  afterEach(() => deleteVms(world()));

  // This is the first test because it counts the existing disks.
  test('create-env: the disk when a new VM comes', { ...withoutNodes, timeout: 900_000 }, () => {
    const hello = { number: 13, profile: 'privileged', attach: 'hot', deployer: ownDeployer } as const;
    return assert.rejects(survivesDeploys(world(), { ...hello, diskClass: forgetful }), isDataLoss);
  });

  test('resize_disk', withoutNodes, () => assert.rejects(survivesResize(world(), forgetful), isDataLoss));

  test('snapshot_disk', withoutNodes, () => assert.rejects(survivesSnapshot(world(), forgetful), isDataLoss));

  test('update_disk to another VolumeAttributesClass', withoutNodes, () =>
    assert.rejects(survivesAttributeChange(world(), forgetful), isDataLoss),
  );

  test('recreate: the first disk when the second comes, by a new pod', withoutNodes, () => {
    const life = { attach: 'recreate', number: 3, profile: 'privileged', podsBeforeTheEnd: 5 } as const;
    return assert.rejects(
      survivesAttachDetachCycle(world(), { ...life, classes: [forgetful, 'loop'] }),
      isDataLoss,
    );
  });
});
