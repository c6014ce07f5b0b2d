import type { EventRecord } from '../kubernetes/describe-pod.ts';
import type { ResourceQuota } from '../cpi/vm/quota.ts';
import type { Node } from '../kubernetes/types/node.ts';
import { amountOf } from '../kubernetes/types/usage.ts';
import { diskProblems } from './disk-problems.ts';
import type { Inventory, SnapshotItem } from './inventory.ts';
import { type JobsOfVm, jobsProblems } from './jobs-of-vm.ts';
import type { ObjectLists } from './object-lists.ts';
import { type Problem, type Surroundings, lateMs } from './problem.ts';
import { vmProblems } from './vm-problems.ts';

/** Returns the problems, errors first. Decides without requests. */
export function findProblems(
  inventory: Inventory,
  lists: ObjectLists,
  now: number,
  jobs?: JobsOfVm,
): Problem[] {
  const surroundings = surroundingsOf(lists, now);
  const vmOf = new Map(inventory.vms.map((vm) => [vm.cid, vm]));
  const vmOfJobs = vmOf.get(jobs?.vm ?? '');
  const problems = [
    ...nodeProblems(inventory, surroundings),
    ...inventory.vms.flatMap((vm) => vmProblems(vm, surroundings)),
    ...(jobs === undefined || vmOfJobs === undefined ? [] : jobsProblems(vmOfJobs, jobs)),
    ...inventory.disks.flatMap((disk) => diskProblems(disk, vmOf, surroundings)),
    ...inventory.snapshots.flatMap((snapshot) => snapshotProblems(snapshot, surroundings)),
    ...inventory.networks
      .filter(({ isTerminating }) => isTerminating)
      .map(({ cid }) => terminatingNetwork(cid)),
    ...(lists.quotas ?? []).flatMap(quotaProblems),
  ];
  const rank = { error: 0, info: 1 } as const;
  return problems.toSorted((one, other) => rank[one.severity] - rank[other.severity]);
}

function surroundingsOf({ nodes, warnings, diskWarnings, diskPods }: ObjectLists, now: number): Surroundings {
  const nodeOf = new Map((nodes ?? []).map((node) => [node.metadata.name, node]));
  const events = [...(warnings ?? []), ...(diskWarnings ?? [])].toSorted((one, other) =>
    timeOf(one).localeCompare(timeOf(other)),
  );
  const lastOf = new Map(events.map((event) => [event.involvedObject?.uid, event]));
  return {
    now,
    warningFor: ({ metadata: { uid } }) => {
      const { reason, message } = lastOf.get(uid) ?? {};
      return uid === undefined || message === undefined ? undefined : `${reason ?? 'Warning'}: ${message}`;
    },
    silentSince: (name) => silentSince(nodeOf.get(name ?? '')),
    nodeExists: (name) => nodes === undefined || nodeOf.has(name),
    knowsAttachments: diskPods !== undefined,
  };
}

const timeOf = ({ lastTimestamp, eventTime, metadata }: EventRecord): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

function silentSince(node: Node | undefined): string | undefined {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True'
    ? undefined
    : (ready.lastTransitionTime ?? 'an unknown time');
}

/** One problem for each lost node, not one for each of its VMs. */
function nodeProblems({ vms }: Inventory, { silentSince: since, nodeExists }: Surroundings): Problem[] {
  const names = [...new Set(vms.flatMap(({ node }) => node ?? []))];
  return names.flatMap((node): Problem[] => {
    const lostSince = since(node);
    if (nodeExists(node) && lostSince === undefined) return [];
    const cids = vms.filter((vm) => vm.node === node).map(({ cid }) => cid);
    return [
      {
        ...{ kind: 'node', object: node, name: undefined, severity: 'error' },
        problem: `the node ${nodeExists(node) ? `does not answer since ${lostSince}` : 'was deleted'}; on it: ${cids.join(', ')}`,
        next: 'bring the node back, or read "Nodes of a real cluster" in docs/recovery.md before you recreate its VMs',
      },
    ];
  });
}

function snapshotProblems(snapshot: SnapshotItem, { now }: Surroundings): Problem[] {
  const { cid, disk, state, error, createdAt } = snapshot;
  const base = { kind: 'snapshot', object: cid, name: disk, severity: 'error' } as const;
  const next = 'check that the snapshot controller and the snapshotter of its driver run';
  if (state === 'Error') return [{ ...base, problem: `the driver reports: ${error ?? ''}`, next }];
  const isLate = now - Date.parse(createdAt) > lateMs;
  if (state === 'Ready' || !isLate) return [];
  return [
    { ...base, problem: state === 'Terminating' ? 'it is still being deleted' : 'it is not ready yet', next },
  ];
}

const terminatingNetwork = (cid: string): Problem => ({
  ...{ kind: 'network', object: cid, name: undefined, severity: 'error' },
  problem: 'it is being deleted',
  next: 'wait, and look at its finalizers if it stays',
});

/** A full quota refuses new objects. Kubernetes shows that in no object. */
function quotaProblems({ metadata: { name }, spec, status }: ResourceQuota): Problem[] {
  const full = Object.keys(spec?.hard ?? {}).filter((resource) => {
    const hard = amountOf(spec?.hard ?? {}, resource);
    return hard > 0n && amountOf(status?.used ?? {}, resource) >= hard;
  });
  if (full.length === 0) return [];
  const amounts = full.map(
    (resource) => `${resource} ${status?.used?.[resource]} of ${spec?.hard?.[resource]}`,
  );
  return [
    {
      ...{ kind: 'quota', object: name, name: undefined, severity: 'info' },
      problem: `the quota is used up: ${amounts.join(', ')}`,
      next: `raise it before you add VMs or disks: kubectl edit resourcequota ${name}`,
    },
  ];
}
