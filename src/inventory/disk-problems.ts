import { annotation, label } from '../cpi/objects/labels.ts';
import { lastVm } from '../cpi/disk/attach/attachment-record.ts';
import { describePod } from '../kubernetes/describe-pod.ts';
import { isPodReady } from '../kubernetes/types/pod.ts';
import { type BoshName, fullName } from './bosh-name.ts';
import type { DiskItem, VmItem } from './inventory.ts';
import { type Finding, type Problem, type Surroundings, lateMs } from './problem.ts';

type VmsByCid = ReadonlyMap<string, VmItem>;

/** Returns the problems of a disk: its claim, its attachment, and an unfinished change. */
export function diskProblems(disk: DiskItem, vmOf: VmsByCid, surroundings: Surroundings): Problem[] {
  const findings = [
    claimFinding(disk, surroundings),
    attachmentFinding(disk, vmOf, surroundings),
    ...changeFindings(disk),
    unclaimedFinding(disk),
  ];
  return findings
    .filter((each) => each !== undefined)
    .map((finding) => ({
      ...{ kind: 'disk', object: disk.cid, name: fullName(disk.name), severity: 'error' },
      ...finding,
    }));
}

function claimFinding(disk: DiskItem, { now, warningFor }: Surroundings): Finding | undefined {
  const { state, vm, cid, claim, createdAt } = disk;
  if (state === 'Lost')
    return {
      problem: 'its volume does not exist any more, and with it its data',
      next: 'restore the PersistentVolume, or the data from a backup',
    };
  if (state === 'Terminating' && vm !== undefined)
    return {
      problem: `its claim was deleted while it is attached to ${vm}: its data will be lost when it is detached`,
      next: 'follow "The claim of an attached disk was deleted outside BOSH" in docs/recovery.md',
    };
  if (state === 'Terminating')
    return {
      problem: 'its claim is being deleted',
      next: `if it stays, see what uses it: kubectl describe pvc ${cid}`,
      severity: 'info',
    };
  const reason = warningFor(claim);
  // A class that waits for its first consumer binds at the first attach.
  const isLate = vm !== undefined || reason !== undefined;
  if (state !== 'Pending' || !isLate || now - Date.parse(createdAt) < lateMs) return undefined;
  return {
    problem: `its claim has no volume${reason === undefined ? '' : `: ${reason}`}`,
    next: `check that the driver of StorageClass ${disk.storageClass ?? '(the default)'} runs: kubectl describe pvc ${cid}`,
  };
}

/** Without the right to list the pods that attach disks, it is not known which disk has none. */
function lostAttachmentFinding(
  { claim }: DiskItem,
  vmOf: VmsByCid,
  { knowsAttachments }: Surroundings,
): Finding | undefined {
  const last = lastVm(claim);
  const holder = vmOf.get(last?.cid ?? '');
  if (!knowsAttachments || holder === undefined || holder.pod?.metadata.uid !== last?.uid) return undefined;
  return {
    problem: `its attachment pod was deleted, and it may still be mounted in VM '${holder.cid}'`,
    next: 'detach it there or recreate that VM; do not attach it elsewhere by hand',
  };
}

function attachmentFinding(disk: DiskItem, vmOf: VmsByCid, surroundings: Surroundings): Finding | undefined {
  const { attachmentPod: pod, vm, cid } = disk;
  if (pod === undefined) return lostAttachmentFinding(disk, vmOf, surroundings);
  const { now, silentSince, warningFor } = surroundings;
  if (silentSince(pod.spec.nodeName) !== undefined) return undefined;
  const age = now - Date.parse(pod.metadata.creationTimestamp ?? '');
  const isVmKnown = vmOf.has(vm ?? '');
  if (pod.metadata.deletionTimestamp !== undefined)
    return isVmKnown
      ? {
          problem: `its attachment to ${vm} ends as soon as no process uses it`,
          next: 'if no detach_disk is running, stop the jobs that use it, or recreate the VM',
          severity: 'info',
        }
      : undefined;
  if (isPodReady(pod) || age < lateMs) return undefined;
  const reason = warningFor(pod);
  return {
    problem: `its attachment to ${vm ?? '-'} is not ready: ${describePod(pod)}${reason === undefined ? '' : `, ${reason}`}`,
    next: `kubectl describe pod attach-${cid} -n ${pod.metadata.namespace}`,
  };
}

/** Conditions of a claim that do not end by themselves, or not without an attached VM. */
const changeHints: Readonly<
  Record<string, readonly [problem: string, next: string, severity: Problem['severity']]>
> = {
  Resizing: ['it is being resized', 'wait; if it stays, read the log of the resizer of its driver', 'info'],
  FileSystemResizePending: ['its file system grows when it is attached', 'attach it to its VM', 'info'],
  ControllerResizeError: ['it could not be resized', 'check the size and the log of the resizer', 'error'],
  NodeResizeError: [
    'its file system could not be resized',
    'read the log of the kubelet of its node',
    'error',
  ],
  ModifyVolumeError: ['its attributes could not be changed', 'check the VolumeAttributesClass', 'error'],
};

function changeFindings({ claim }: DiskItem): Finding[] {
  const { annotations = {}, labels = {} } = claim.metadata;
  const conditions = (claim.status?.conditions ?? []).filter(({ status }) => status === 'True');
  const findings = conditions.flatMap(({ type, message }): Finding[] => {
    const hint = changeHints[type];
    if (hint === undefined) return [];
    const [problem, next, severity] = hint;
    return [
      {
        problem: `${problem}${message === undefined || message === '' ? '' : `: ${message}`}`,
        next,
        severity,
      },
    ];
  });
  const isCopied =
    annotations[annotation.replacement] !== undefined || labels[label.provisional] !== undefined;
  if (!isCopied) return findings;
  return [
    ...findings,
    {
      problem: 'update_disk is copying it, or was killed',
      next: 'run bosh-kubernetes orphans, which shows what continues or removes it',
      severity: 'info',
    },
  ];
}

function unclaimedFinding({ unclaimed, vm, name }: DiskItem): Finding | undefined {
  if (!unclaimed || vm !== undefined) return undefined;
  return {
    problem: 'it was created and then neither attached nor described: its caller may have been killed',
    next: unclaimedAdvice(name),
    severity: 'info',
  };
}

function unclaimedAdvice({ isOfCreateEnv }: BoshName): string {
  const orphans = 'bosh-kubernetes orphans shows whether it can be deleted (docs/status.md)';
  if (isOfCreateEnv === false) return `if no call is running, ${orphans}`;
  const createEnv =
    'run up or create-env of its deployment again, which uses the disk if the state file records it';
  return isOfCreateEnv === true
    ? `${createEnv}; if it stays unclaimed, ${orphans}`
    : `if create-env made it, ${createEnv}; otherwise ${orphans}`;
}
