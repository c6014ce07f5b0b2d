import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ObjectReference } from '../../../src/kubernetes/api.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import { nodes, persistentVolumeClaims, pods } from '../../../src/kubernetes/resources.ts';
import { outOfServiceTaint } from '../../../src/cpi/objects/node-state.ts';
import { attachmentPodName } from '../../../src/cpi/objects/names.ts';
import type { Disk } from './oracle.ts';
import type { FaultName } from './plan.ts';
import type { PodLife } from './pod-life.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { type SimulatedWorld, namespace } from './simulated-world.ts';

export interface FaultSubjects {
  readonly vmCid: string;
  readonly disk: Disk;
  readonly diskCid: string;
}

type Fault = (world: SimulatedWorld, subjects: FaultSubjects) => Promise<void> | void;

const remove = (world: SimulatedWorld, reference: ObjectReference, grace?: number): Promise<void> =>
  ignoreNotFound(world.api.delete(reference, grace === undefined ? {} : { gracePeriodSeconds: grace }));
const podOf = (name: string): ObjectReference => ({ resource: pods, namespace, name });
const attachmentOf = ({ diskCid }: FaultSubjects): string => attachmentPodName(diskCid);

const faults: Readonly<Record<FaultName, Fault>> = {
  'kill the container of the VM': (world, { vmCid }) => {
    for (const life of livesNamed(world, vmCid)) life.endContainer(137, 'killed');
  },
  'kill the container of the attachment': (world, subjects) => {
    for (const life of livesNamed(world, attachmentOf(subjects))) life.endContainer(137, 'killed');
  },
  'delete the attachment': (world, subjects) => remove(world, podOf(attachmentOf(subjects))),
  'delete the attachment by force': (world, subjects) => remove(world, podOf(attachmentOf(subjects)), 0),
  'evict the attachment': (world, subjects) => {
    for (const life of livesNamed(world, attachmentOf(subjects))) life.evict();
  },
  'delete the pod of the VM': (world, { vmCid }) => remove(world, podOf(vmCid)),
  'delete the claim': (world, { disk, diskCid }) => {
    disk.isGivenUp = true;
    return remove(world, { resource: persistentVolumeClaims, namespace, name: diskCid });
  },
  'cut the node off': async (world, { vmCid }) => {
    const node = world.nodes.find(({ lives }) => [...lives.values()].some(({ name }) => name === vmCid));
    if (node !== undefined) await cutOff(world, node);
  },
  'the node comes back': async (world) => {
    for (const node of world.nodes) await comeBack(world, node);
  },
  'the node is out of service': async (world) => {
    for (const node of world.nodes) if (node.isCutOff) await giveUp(world, node);
  },
};

/** Does what other programs, the kernel or a power failure do to a VM, a disk or a node. */
export async function doFault(
  world: SimulatedWorld,
  fault: FaultName,
  subjects: FaultSubjects,
): Promise<void> {
  await faults[fault](world, subjects);
}

async function cutOff(world: SimulatedWorld, node: SimulatedNode): Promise<void> {
  node.isCutOff = true;
  await setReady(world, node, 'Unknown');
}

/** An operator switches the node off and taints it out-of-service. */
async function giveUp(world: SimulatedWorld, node: SimulatedNode): Promise<void> {
  node.switchOff();
  const taints = [{ key: outOfServiceTaint, value: 'nodeshutdown', effect: 'NoExecute' as const }];
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
  await world.api.patch<Node>(
    { resource: nodes, name },
    { status: { conditions } },
    { subresource: 'status' },
  );
}

const livesNamed = ({ nodes: all }: SimulatedWorld, name: string): PodLife[] =>
  all.flatMap(({ lives }) => [...lives.values()]).filter((life) => life.name === name);

async function ignoreNotFound(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
}
