import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/call.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { hasVm } from '../../../src/cpi/vm/has-vm.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import { assertWhole } from './assert-whole.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { writingVm } from './disk-subject.ts';
import { nodeReference, startAgain, untilLost } from './node-condition.ts';

/** Returns the CPI with a short timeout for a lost node. */
export const hasty = (world: ClusterWorld): CallContext =>
  world.cloudWith({}, { deadlines: { lost_node: 5, delete_vm: 300, release: 2 } });

export interface LostNode {
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
export async function outlivesLostNode(
  world: ClusterWorld,
  { node, lost, beforeRemedy, deleted }: LostNode,
): Promise<void> {
  const { vm, disks } = await writingVm(world, ['loop'], { node: node.name });
  const [disk = ''] = disks;
  const other = await world.otherNode(vm);
  await node.freeze();
  try {
    await untilLost(world, node.name);
    await lost?.();
    const told = await remedyOf(world, { vm, stake: disk, node: node.name });
    assert.ok(await world.isThere(world.podReference(`attach-${disk}`)));
    await beforeRemedy?.();
    await world.kubectl(...told.split(' '));
    await deleteVm(hasty(world), [vm]);
    assert.equal(await hasVm(hasty(world), [vm]), false);
    await deleted?.();
    await assertWhole(world, disks, { node: other });
  } finally {
    await world.api.patch(nodeReference(node.name), { spec: { taints: null } });
    await startAgain(world, node);
  }
}

/**
 * Returns the kubectl arguments that delete_vm advises for a VM with a stake (a disk, an address). The VM
 * must still exist.
 */
export async function remedyOf(
  world: ClusterWorld,
  { vm, stake, node }: { readonly vm: string; readonly stake: string; readonly node: string },
): Promise<string> {
  let told = '';
  await assert.rejects(deleteVm(hasty(world), [vm]), (error) => {
    assert.ok(isProductError(error, 'NODE_LOST'), String(error));
    for (const word of [vm, stake, node])
      assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
    told = /kubectl (taint nodes \S+ \S+:NoExecute)/u.exec(error.message)?.[1] ?? '';
    assert.notEqual(told, '', `no command is in: ${error.message}`);
    return true;
  });
  assert.equal(await hasVm(hasty(world), [vm]), true);
  return told;
}
