import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import { events, nodes } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertIntact } from './assert-intact.ts';
import { type WritingVm, createWritingVm } from './disk-setup.ts';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import { interrupted } from './interrupted.ts';
import { type DetachedInUse, survivesDetach } from './detach-scenarios.ts';
import { hasVm } from '../../../src/cpi/vm/has-vm.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';
import type { ObjectReference } from '../../../src/kubernetes/api.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';

/**
 * Cuts a node's power while a job writes. After the restart the attachment pod starts before the VM's hub is
 * mounted. `back` runs when the VM runs again and detaches the disk. The disk must be intact on another node
 * afterwards.
 */
export async function survivesPowerCut(
  world: ClusterWorld,
  back: (subject: WritingVm) => Promise<unknown>,
  vmOptions: NewVm = {},
): Promise<void> {
  const subject = await createWritingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const [disk = ''] = disks;
  const { uid } = (await world.pod(vm)).metadata;
  const node = await world.nodeOf(vm);
  const other = await world.otherNode(vm);
  await node.stop();
  await node.start(() => attachmentFirst(world, disk));
  await until('the VM to run again', () => runsAgain(world, vm));
  assert.equal((await world.pod(vm)).metadata.uid, uid);
  await back(subject);
  await assertIntact(world, disks, { node: other });
  await deleteVm(world.cloud, { vmCid: vm });
}

/**
 * Waits, before a node mounts the hubs of its VMs, until the attachment pod was rejected or has mounted its
 * disk onto what is there.
 */
export async function attachmentFirst(world: ClusterWorld, disk: string): Promise<void> {
  await until('the attachment to be refused, or to bind', () => hadItsTurn(world, `attach-${disk}`));
}

async function hadItsTurn(world: ClusterWorld, attachment: string): Promise<boolean> {
  const { items } = await world.api.list<EventRecord>(events, { namespace: world.namespace });
  const refused = items.some(
    ({ involvedObject, message = '' }) =>
      involvedObject?.name === attachment && message.includes('hostPath type check failed'),
  );
  return refused || runsAgain(world, attachment);
}

async function runsAgain(world: ClusterWorld, pod: string): Promise<boolean> {
  const [status] = (await world.pod(pod)).status?.containerStatuses ?? [];
  return status?.state?.running !== undefined && (status.restartCount ?? 0) > 0;
}

/** The programs of a node that are killed and started again. */
export const restartedPrograms = ['kubelet', 'containerd'] as const;

/**
 * Kills a program of the node during attach_disk, during a detach_disk while the job writes, and during one
 * after it. All calls must converge, and the disk must be intact on another node afterwards.
 */
export async function survivesRestart(
  world: ClusterWorld,
  program: (typeof restartedPrograms)[number],
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const restartBelow = (vm: string) => async (): Promise<void> => {
    await (await world.nodeOf(vm)).restart(program);
    // A healthy kubelet has the status of its pods a second later, and calls a new containerd when its
    // back-off has ended.
    await world.untilInVm(vm, 'true');
  };
  const { cloud: used = world.cloud } = vmOptions;
  return survivesDetach(
    world,
    {
      attach: (cloud, vm, disk) =>
        interrupted(cloud, { moment: 'pod made', action: restartBelow(vm) }, (each) =>
          attachDisk(each, { vmCid: vm, diskCid: disk }),
        ),
      ask: (cloud, { vm, disks: [disk = ''] }) =>
        interrupted(cloud, { moment: 'holder asked', action: restartBelow(vm) }, (each) =>
          detachDisk(each, { vmCid: vm, diskCid: disk }),
        ),
      refused: (subject) => untilRefusedAsInUse(used, subject),
      detach: async ({ vm, disks: [disk = ''] }) => {
        const detach = (moment: 'holder asked' | 'end requested'): Promise<null> =>
          interrupted(world.cloud, { moment, action: restartBelow(vm) }, (each) =>
            detachDisk(each, { vmCid: vm, diskCid: disk }),
          );
        const attachment = world.podReference(`attach-${disk}`);
        // Calls to the mount container go through both programs. If it was unreachable for too long, the disk
        // is still attached.
        const failure = await detach('holder asked').then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined) {
          assert.ok(isProductError(failure, 'DISK_BUSY'), failure instanceof Error ? failure.message : '');
          assert.ok(await world.isThere(attachment));
        } else {
          await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
        }
        // From here on no exec is necessary, so nothing may fail.
        await detach('end requested');
        assert.equal(await world.isThere(attachment), false);
      },
    },
    vmOptions,
  );
}

/**
 * Retries until the error names the process that uses the disk. An earlier error may only say that the mount
 * container was unreachable.
 */
async function untilRefusedAsInUse(cloud: CallContext, { vm, disks: [disk = ''] }: WritingVm): Promise<void> {
  await until('detach_disk to be refused for what uses the disk', async () => {
    const refusal = await detachDisk(cloud, { vmCid: vm, diskCid: disk }).catch((error: unknown) => error);
    assert.ok(isProductError(refusal, 'DISK_BUSY'), `detach_disk came to ${String(refusal)}`);
    return /it was in use for \d+ s \(process \d+ has it mounted at/u.test(refusal.message);
  });
}

/** Returns the CPI with a short timeout for a lost node. */
export const withShortDeadlines = (world: ClusterWorld): CallContext =>
  world.cloudWith({}, { deadlines: { lost_node: 5, delete_vm: 300, release: 2 } });

interface LostNode {
  readonly node: NodeUnderTest;
  /** Runs while the node is lost and before an operator has declared this. */
  readonly lost?: () => Promise<void>;
  /** Runs before the operator follows the advice. */
  readonly beforeRemedy?: () => Promise<void>;
  /** Runs after the advice was followed and the VM was deleted. */
  readonly deleted?: () => Promise<void>;
}

/**
 * Freezes the processes of a node while a job writes. delete_vm must name the remedy and delete the VM after
 * it was applied. The disk must be intact on another node afterwards.
 */
export async function survivesLostNode(
  world: ClusterWorld,
  { node, lost, beforeRemedy, deleted }: LostNode,
): Promise<void> {
  const { vm, disks } = await createWritingVm(world, ['loop'], { node: node.name });
  const [disk = ''] = disks;
  const other = await world.otherNode(vm);
  await node.freeze();
  try {
    await untilLost(world, node.name);
    await lost?.();
    const remedy = await readRemedy(world, { vm, stake: disk, node: node.name });
    assert.ok(await world.isThere(world.podReference(`attach-${disk}`)));
    await beforeRemedy?.();
    await world.kubectl(...remedy.split(' '));
    await deleteVm(withShortDeadlines(world), { vmCid: vm });
    assert.equal(await hasVm(withShortDeadlines(world), { vmCid: vm }), false);
    await deleted?.();
    await assertIntact(world, disks, { node: other });
  } finally {
    await world.api.patch(nodeReference(node.name), { spec: { taints: null } });
    await startAgain(world, node);
  }
}

/**
 * Returns the kubectl arguments that delete_vm advises for a VM with a stake (a disk, an address). The VM
 * must still exist.
 */
export async function readRemedy(
  world: ClusterWorld,
  { vm, stake, node }: { readonly vm: string; readonly stake: string; readonly node: string },
): Promise<string> {
  let remedy = '';
  await assert.rejects(deleteVm(withShortDeadlines(world), { vmCid: vm }), (error) => {
    assert.ok(isProductError(error, 'NODE_LOST'), String(error));
    for (const word of [vm, stake, node])
      assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
    remedy = /kubectl (taint nodes \S+ \S+:NoExecute)/u.exec(error.message)?.[1] ?? '';
    assert.notEqual(remedy, '', `no command is in: ${error.message}`);
    return true;
  });
  assert.equal(await hasVm(withShortDeadlines(world), { vmCid: vm }), true);
  return remedy;
}

const deadlineMs = 180_000;

export const nodeReference = (name: string): ObjectReference => ({ resource: nodes, name });

export const untilReady = (world: ClusterWorld, name: string): Promise<true> =>
  until('the node to be ready', () => isReady(world, name), deadlineMs);

export const untilLost = (world: ClusterWorld, name: string): Promise<true> =>
  until('the node to be lost', async () => !(await isReady(world, name)), deadlineMs);

/** Starts the node again, whatever the state of its processes. */
export async function startAgain(world: ClusterWorld, node: NodeUnderTest): Promise<void> {
  await node.stop();
  await node.start();
  await untilReady(world, node.name);
}

async function isReady({ api }: ClusterWorld, name: string): Promise<boolean> {
  const { status } = await api.get<Node>(nodeReference(name));
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}
