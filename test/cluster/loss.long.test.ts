import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { deleteAttachmentByForce, deleteVms, drain, deletesHubContent, evict } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { diskForOnePod, type WritingVm } from './support/disk-setup.ts';
import { unrelatedPod, startUnrelatedPod } from './support/unrelated-pod.ts';
import {
  survivesVmDeletion,
  type AttachmentEnd,
  survivesAttachmentEnd,
  survivesLeakedMount,
  type DetachInUse,
  survivesDetach,
  survivesDetachOfOneDisk,
} from './support/detach-scenarios.ts';
import { isDataLoss } from './support/assert-intact.ts';
import { survivesRestart, restartedPrograms } from './support/node-scenarios.ts';
import { killContainers, killSandbox, leakMount, untilRestarted } from './support/break-attachment.ts';
import {
  deafHolder,
  lateHolder,
  noBusyCheck,
  noTmpfsCheck,
  plainHub,
  type Weakness,
  cpiWithoutGuards,
} from './support/cpi-without-guards.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Mutation tests like loss.test.ts, run by hand: here and in loss-agent.long.test.ts the scenarios of the
 * other suites (`support/outlives-*.ts`, `survivesVmDeletion`) run against a CPI without one of its guards,
 * and must report the loss. The forced deletion of an attachment pod alone does no harm, because kubelet 1.36
 * keeps a device that is still mounted somewhere (attachment-gone.test.ts); detach_disk after it does.
 * Scenarios that only the kubelet or the driver can break are in loss-driver.long.test.ts: recreate, resize,
 * snapshots, attributes, create-env. Two more suites check data: profiles and stock-stemcell use the same
 * checks, `canary` and the job's response. lost-volumes has no CPI; its second test is the counterpart of its
 * first.
 */
describeCluster('what each data-survival test would find, by hand', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(async () => {
    await deleteVms(world());
    const standing = world().podReference(unrelatedPod);
    if (await world().isThere(standing)) await world().api.delete(standing);
  });

  test('the busy check off, two disks: detach_disk takes each from under its job', withoutNodes, async () => {
    const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
    const vm = await world().newVm({ cloud: weak.cloud });
    await assert.rejects(survivesDetachOfOneDisk(world(), vm, { cloud: weak.cloud }), isDataLoss);
    weak.assertUsed();
  });

  test(
    'the busy check off, a claim that only one pod may use (ReadWriteOncePod): the same',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      const inUse: DetachInUse = { create: (vm) => diskForOnePod(world(), vm) };
      await assert.rejects(survivesDetach(world(), inUse, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  const attachmentEnds: Readonly<Record<string, (pod: string) => Promise<unknown>>> = {
    deleted: (pod) => world().api.delete(world().podReference(pod)),
    evicted: (pod) => evict(world(), pod),
  };
  for (const [what, end] of Object.entries(attachmentEnds)) {
    test(
      `the busy check off: an attachment that is ${what} takes the disk from under a job, and what it writes then is lost`,
      withoutNodes,
      async () => {
        const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
        await assert.rejects(survivesAttachmentEnd(world(), { end }, { cloud: weak.cloud }), isDataLoss);
        weak.assertUsed();
      },
    );
  }

  test(
    'the busy check off, the attachment deleted by force: detach_disk takes the disk from under a job',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      const ends: AttachmentEnd = {
        end: (pod) => deleteAttachmentByForce(world(), pod),
        after: async ({ vm, disks: [disk = ''] }) =>
          void (await detachDisk(weak.cloud, { vmCid: vm, diskCid: disk })),
      };
      // The pod's own mount container has the busy check. Without it, it would unmount as it ends.
      await assert.rejects(survivesAttachmentEnd(world(), ends), isDataLoss);
      weak.assertUsed();
    },
  );

  const harms: Readonly<Record<string, (subject: WritingVm) => Promise<void>>> = {
    'the containers of the attachment killed': async (subject) => {
      await killContainers(world(), subject);
      await untilRestarted(world(), subject);
    },
    'beside an unrelated pod with copies of its mounts': async (subject) => {
      await startUnrelatedPod(world(), subject);
    },
    'its sandbox killed': async (subject) => {
      await killSandbox(world(), subject);
      await untilRestarted(world(), subject);
    },
  };
  for (const [what, before] of Object.entries(harms)) {
    test(
      `the busy check off, ${what}: detach_disk takes the disk from under a job`,
      withoutNodes,
      async () => {
        const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
        await assert.rejects(survivesDetach(world(), { before }, { cloud: weak.cloud }), isDataLoss);
        weak.assertUsed();
      },
    );
  }

  test(
    'the busy check off, the attachment gone and its mount left: detach_disk takes the disk from under a job',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      const inUse: DetachInUse = {
        // A mount container without the busy check would unmount as it ends and leave no mount.
        attach: (_, vm, disk) => attachDisk(world().cloud, { vmCid: vm, diskCid: disk }),
        before: (subject) => leakMount(world(), subject),
      };
      await assert.rejects(survivesDetach(world(), inUse, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  for (const program of restartedPrograms) {
    test(
      `the busy check off, ${program} restarted in the middle of the attach and of the detach: the disk is taken from under a job`,
      withoutNodes,
      async () => {
        // The deadline must be longer than the time in which the mount container is unreachable. A detach
        // that ends before it could check is rejected and does no harm.
        const patient = world().cloudWith({}, { deadlines: { release: 60 } });
        const weak = cpiWithoutGuards(patient, [noBusyCheck]);
        await assert.rejects(survivesRestart(world(), program, { cloud: weak.cloud }), isDataLoss);
        weak.assertUsed();
      },
    );
  }

  const endings: Readonly<
    Record<string, { readonly remove: (vm: string) => Promise<unknown>; readonly holder?: Weakness }>
  > = {
    'deleted by force': {
      remove: (vm) => world().kubectl('delete', 'pod', vm, '--force', '--grace-period=0'),
    },
    'that is evicted': { remove: (vm) => evict(world(), vm) },
    // The attachment pod is also deleted.
    'whose node is drained': { remove: (vm) => drain(world(), vm), holder: lateHolder },
  };
  for (const [what, { remove, holder = deafHolder }] of Object.entries(endings)) {
    test(
      `a hub on the node's disk: a VM pod ${what} takes the data of its disk with it`,
      withoutNodes,
      async () => {
        // This is a race between the kubelet and the mount container. The mount container must lose, as if
        // jobs or the node were slow.
        const weak = cpiWithoutGuards(world().cloud, [plainHub, noTmpfsCheck, holder]);
        const end = async (vm: string): Promise<void> => {
          // This must come before delete_vm, which lets the attachment pod unmount.
          await deletesHubContent(world(), vm, remove);
          // A pod that was not force-deleted stays until then.
          await deleteVm(world().cloud, { vmCid: vm });
        };
        const ends = { classes: ['loop'] as const, withinSeconds: 600, end };
        await assert.rejects(survivesVmDeletion(world(), ends, { cloud: weak.cloud }), isDataLoss);
        weak.assertUsed();
      },
    );
  }

  test(
    "a hub on the node's disk, the attachment gone and its mount left: the VM's end takes the data of its disk with it",
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [plainHub, noTmpfsCheck]);
      const remove = (vm: string): Promise<void> =>
        deletesHubContent(world(), vm, (pod) => world().api.delete(world().podReference(pod)));
      await assert.rejects(survivesLeakedMount(world(), remove, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );
});
