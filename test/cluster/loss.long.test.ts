import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { deleteAttachmentByForce } from './support/delete-by-force.ts';
import { deleteVms } from './support/delete-vms.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { diskForOnePod } from './support/disk-for-one-pod.ts';
import { bystander, startBystander } from './support/bystander.ts';
import { drain } from './support/drain.ts';
import { emptiesHub } from './support/empties-hub.ts';
import { endsWhole } from './support/ends-whole.ts';
import { evict } from './support/evict.ts';
import type { DiskSubject } from './support/disk-subject.ts';
import { isHarm } from './support/is-harm.ts';
import { type EndOfAttachment, outlivesAttachmentEnd } from './support/outlives-attachment-end.ts';
import { outlivesLeftMount } from './support/outlives-left-mount.ts';
import { type DetachInUse, outlivesDetach } from './support/outlives-detach.ts';
import { outlivesRestart, restartedPrograms } from './support/outlives-restart.ts';
import { outlivesTwoDisks } from './support/outlives-two-disks.ts';
import { killContainers, killSandbox, leaveMount, untilSecondLife } from './support/harm-attachment.ts';
import {
  deafHolder,
  lateHolder,
  noBusyCheck,
  noTmpfsCheck,
  plainHub,
  type Weakness,
  weakenedCloud,
} from './support/weakened-cloud.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Mutation tests like loss.test.ts, run by hand: here and in loss-agent.long.test.ts the scenarios of the
 * other suites (`support/outlives-*.ts`, `endsWhole`) run against a CPI without one of its guards, and must
 * report the loss. The forced deletion of an attachment pod alone does no harm, because kubelet 1.36 keeps a
 * device that is still mounted somewhere (attachment-gone.test.ts); detach_disk after it does. Scenarios that
 * only the kubelet or the driver can break are in loss-driver.long.test.ts: recreate, resize, snapshots,
 * attributes, create-env. Two more suites check data: profiles and stock-stemcell use the same checks,
 * `canary` and the job's response. lost-volumes has no CPI; its second test is the counterpart of its first.
 */
describeCluster('what each data-survival test would find, by hand', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(async () => {
    await deleteVms(world());
    const standing = world().podReference(bystander);
    if (await world().isThere(standing)) await world().api.delete(standing);
  });

  test('the busy check off, two disks: detach_disk takes each from under its job', withoutNodes, async () => {
    const weak = weakenedCloud(world().cloud, [noBusyCheck]);
    const vm = await world().newVm({ cloud: weak.cloud });
    await assert.rejects(outlivesTwoDisks(world(), vm, { cloud: weak.cloud }), isHarm);
    weak.assertUsed();
  });

  test(
    'the busy check off, a claim that only one pod may use (ReadWriteOncePod): the same',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noBusyCheck]);
      const inUse: DetachInUse = { create: (vm) => diskForOnePod(world(), vm) };
      await assert.rejects(outlivesDetach(world(), inUse, { cloud: weak.cloud }), isHarm);
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
        const weak = weakenedCloud(world().cloud, [noBusyCheck]);
        await assert.rejects(outlivesAttachmentEnd(world(), { end }, { cloud: weak.cloud }), isHarm);
        weak.assertUsed();
      },
    );
  }

  test(
    'the busy check off, the attachment deleted by force: detach_disk takes the disk from under a job',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noBusyCheck]);
      const ends: EndOfAttachment = {
        end: (pod) => deleteAttachmentByForce(world(), pod),
        after: async ({ vm, disks: [disk] }) => void (await detachDisk(weak.cloud, [vm, disk])),
      };
      // The pod's own mount container has the busy check. Without it, it would unmount as it ends.
      await assert.rejects(outlivesAttachmentEnd(world(), ends), isHarm);
      weak.assertUsed();
    },
  );

  const harms: Readonly<Record<string, (subject: DiskSubject) => Promise<void>>> = {
    'the containers of the attachment killed': async (subject) => {
      await killContainers(world(), subject);
      await untilSecondLife(world(), subject);
    },
    'beside a bystander with copies of its mounts': async (subject) => {
      await startBystander(world(), subject);
    },
    'its sandbox killed': async (subject) => {
      await killSandbox(world(), subject);
      await untilSecondLife(world(), subject);
    },
  };
  for (const [what, before] of Object.entries(harms)) {
    test(
      `the busy check off, ${what}: detach_disk takes the disk from under a job`,
      withoutNodes,
      async () => {
        const weak = weakenedCloud(world().cloud, [noBusyCheck]);
        await assert.rejects(outlivesDetach(world(), { before }, { cloud: weak.cloud }), isHarm);
        weak.assertUsed();
      },
    );
  }

  test(
    'the busy check off, the attachment gone and its mount left: detach_disk takes the disk from under a job',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noBusyCheck]);
      const inUse: DetachInUse = {
        // A mount container without the busy check would unmount as it ends and leave no mount.
        attach: (_, vm, disk) => attachDisk(world().cloud, [vm, disk]),
        before: (subject) => leaveMount(world(), subject),
      };
      await assert.rejects(outlivesDetach(world(), inUse, { cloud: weak.cloud }), isHarm);
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
        const weak = weakenedCloud(patient, [noBusyCheck]);
        await assert.rejects(outlivesRestart(world(), program, { cloud: weak.cloud }), isHarm);
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
        const weak = weakenedCloud(world().cloud, [plainHub, noTmpfsCheck, holder]);
        const end = async (vm: string): Promise<void> => {
          // This must come before delete_vm, which lets the attachment pod unmount.
          await emptiesHub(world(), vm, remove);
          // A pod that was not force-deleted stays until then.
          await deleteVm(world().cloud, [vm]);
        };
        const ends = { classes: ['loop'] as const, withinSeconds: 600, end };
        await assert.rejects(endsWhole(world(), ends, { cloud: weak.cloud }), isHarm);
        weak.assertUsed();
      },
    );
  }

  test(
    "a hub on the node's disk, the attachment gone and its mount left: the VM's end takes the data of its disk with it",
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [plainHub, noTmpfsCheck]);
      const remove = (vm: string): Promise<void> =>
        emptiesHub(world(), vm, (pod) => world().api.delete(world().podReference(pod)));
      await assert.rejects(outlivesLeftMount(world(), remove, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );
});
