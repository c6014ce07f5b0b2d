import { isApiError } from '../../../src/kubernetes/api-error.ts';
import type { ObjectReference } from '../../../src/kubernetes/api.ts';
import type { Node } from '../../../src/kubernetes/node.ts';
import { nodes, persistentVolumeClaims, pods } from '../../../src/kubernetes/resources.ts';
import { outOfService } from '../../../src/cpi/node/node-state.ts';
import { attachmentName } from '../../../src/cpi/names.ts';
import type { Disk } from './oracle.ts';
import type { FaultName } from './plan.ts';
import type { PodLife } from './pod-life.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { namespace } from './simulated-world.ts';

/** Does what others, the kernel or a power cut do to a VM, a disk or a node. */
export async function doFault(
  world: SimulatedWorld,
  fault: FaultName,
  { vmCid, disk, diskCid }: { vmCid: string; disk: Disk; diskCid: string },
): Promise<void> {
  const node = world.nodes.find(({ lives }) => livesNamed(lives, vmCid).length > 0);
  const attachment = attachmentName(diskCid);
  const remove = (reference: ObjectReference, grace?: number): Promise<void> =>
    ifThere(world.api.delete(reference, grace === undefined ? {} : { gracePeriodSeconds: grace }));
  switch (fault) {
    case 'kill the container of the VM':
      livesNamed(node?.lives, vmCid)[0]?.endContainer(137, 'killed');
      return;
    case 'kill the container of the attachment':
      for (const { lives } of world.nodes) livesNamed(lives, attachment)[0]?.endContainer(137, 'killed');
      return;
    case 'delete the attachment':
      return remove({ resource: pods, namespace, name: attachment });
    case 'delete the attachment by force':
      return remove({ resource: pods, namespace, name: attachment }, 0);
    case 'evict the attachment':
      for (const { lives } of world.nodes) livesNamed(lives, attachment)[0]?.evict();
      return;
    case 'delete the pod of the VM':
      return remove({ resource: pods, namespace, name: vmCid });
    case 'delete the claim':
      disk.isGivenUp = true;
      return remove({ resource: persistentVolumeClaims, namespace, name: diskCid });
    case 'cut the node off':
      return node === undefined ? undefined : cutOff(world, node);
    case 'the node comes back':
      for (const one of world.nodes) await comeBack(world, one);
      return;
    case 'the node is out of service':
      for (const one of world.nodes.filter(({ isCutOff }) => isCutOff)) await giveUp(world, one);
      return;
    default:
      return fault satisfies never;
  }
}

async function cutOff(world: SimulatedWorld, node: SimulatedNode): Promise<void> {
  node.isCutOff = true;
  await setReady(world, node, 'Unknown');
}

/** An operator has switched the node off, and says so. */
async function giveUp(world: SimulatedWorld, node: SimulatedNode): Promise<void> {
  node.switchOff();
  const taints = [{ key: outOfService, value: 'nodeshutdown', effect: 'NoExecute' as const }];
  await world.api.patch<Node>({ resource: nodes, name: node.name }, { spec: { taints } });
}

export async function comeBack(world: SimulatedWorld, node: SimulatedNode): Promise<void> {
  if (!node.isCutOff && !node.isDown) return;
  node.isCutOff = false;
  node.isDown = false;
  await world.api.patch<Node>({ resource: nodes, name: node.name }, { spec: { taints: null } });
  await setReady(world, node, 'True');
}

async function setReady(world: SimulatedWorld, { name }: SimulatedNode, status: string): Promise<void> {
  const lastTransitionTime = `${new Date(world.clock.now()).toISOString().slice(0, 19)}Z`;
  const conditions = [{ type: 'Ready', status, lastTransitionTime }];
  await world.api.patch<Node>({ resource: nodes, name }, { status: { conditions } }, { subresource: 'status' });
}

const livesNamed = (lives: ReadonlyMap<string, PodLife> | undefined, name: string): PodLife[] =>
  [...(lives?.values() ?? [])].filter((life) => life.name === name);

async function ifThere(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
}
