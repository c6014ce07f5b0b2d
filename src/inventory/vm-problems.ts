import { annotation } from '../cpi/objects/labels.ts';
import { vmScriptsVersion } from '../bosh/object-labels.ts';
import type { Stored } from '../kubernetes/object.ts';
import { type ContainerStatus, type Pod, isPodReady, isTerminal } from '../kubernetes/types/pod.ts';
import { shellWord } from '../platform/shell-word.ts';
import { type BoshName, fullName } from './bosh-name.ts';
import { type VmItem, containersOf } from './inventory.ts';
import { type Finding, type Problem, type Surroundings, lateMs } from './problem.ts';

/** Returns the problems of a VM: the state of its pod, and whether an earlier version of the CPI made it. */
export function vmProblems(vm: VmItem, surroundings: Surroundings): Problem[] {
  const state = creationFinding(vm, surroundings) ?? podFinding(vm, surroundings);
  const findings = [state, vm.pod && restartFinding(vm.pod), outdatedFinding(vm)];
  return findings
    .filter((each) => each !== undefined)
    .map((finding) => ({
      ...{ kind: 'VM', object: vm.cid, name: fullName(vm.name), severity: 'error' },
      ...finding,
    }));
}

/** Returns how to recreate the VM: by create-env or by its director. */
function recreateCommand({ name: { deployment, group, id, isOfCreateEnv } }: VmItem): string {
  if (isOfCreateEnv === true) return 'up --recreate or create-env --recreate';
  if (deployment === undefined)
    return 'up --recreate or create-env --recreate, or bosh recreate if a director created it';
  const instance = group === undefined ? '' : ` ${shellWord(id === undefined ? group : `${group}/${id}`)}`;
  return `bosh -d ${shellWord(deployment)} recreate${instance}`;
}

/** A VM that create_vm has not finished, or whose pod does not exist. Not known without its Secret. */
function creationFinding(vm: VmItem, surroundings: Surroundings): Finding | undefined {
  const { pod, secret, name } = vm;
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
  const isCreated = secret.metadata.annotations?.[annotation.creation] === 'done';
  const isDescribed = (name.instance ?? name.deployment) !== undefined;
  if (!isCreated && !isDescribed && isLate(vm, surroundings))
    return {
      problem: `its create_vm is running or was killed${pod === undefined ? '' : ` (${vm.state})`}`,
      next: 'run bosh-kubernetes orphans, which shows what removes it',
    };
  if (pod !== undefined || !isCreated) return undefined;
  return {
    problem: 'its pod does not exist: it was deleted outside of BOSH, or a call of the CPI is recreating it',
    next: `if no call is running, ${repairCommand(name)}`,
  };
}

function repairCommand({ deployment, isOfCreateEnv }: BoshName): string {
  const createEnv = 'run up or create-env, which creates the VM again with its disk';
  if (isOfCreateEnv === true) return createEnv;
  if (isOfCreateEnv === undefined) return `${createEnv}, or bosh cloud-check if a director created it`;
  return `run bosh ${deployment === undefined ? '' : `-d ${shellWord(deployment)} `}cloud-check, which creates the VM again`;
}

function podFinding(vm: VmItem, surroundings: Surroundings): Finding | undefined {
  const { pod, cid } = vm;
  // The problem of the node is reported once.
  if (pod === undefined || surroundings.silentSince(vm.node) !== undefined) return undefined;
  if (pod.metadata.deletionTimestamp !== undefined) return terminatingFinding(pod, surroundings);
  if (isTerminal(pod))
    return {
      problem: `its pod has ended: ${pod.status?.reason ?? pod.status?.phase}${suffix(pod.status?.message)}`,
      next: `recreate it: ${recreateCommand(vm)}`,
    };
  return waitingFinding(pod, cid, surroundings) ?? notReadyFinding(vm, pod, surroundings);
}

const isLate = ({ createdAt }: Pick<VmItem, 'createdAt'>, { now }: Surroundings): boolean =>
  now - Date.parse(createdAt) > lateMs;

const suffix = (text: string | undefined): string => (text === undefined || text === '' ? '' : `: ${text}`);

function terminatingFinding(pod: Stored<Pod>, { now, warningFor }: Surroundings): Finding | undefined {
  const since = pod.metadata.deletionTimestamp ?? '';
  // The deletion timestamp is the end of the grace period.
  if (now < Date.parse(since) + lateMs) return undefined;
  return {
    problem: `it should have ended at ${since}${suffix(warningFor(pod))}`,
    next: `check that the kubelet of node ${pod.spec.nodeName ?? '-'} runs, and that no job hangs: kubectl describe pod ${pod.metadata.name}`,
  };
}

/** The reasons why a container waits, with the next step. */
const waitingHints: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ErrImagePull|ImagePullBackOff|InvalidImageName|RegistryUnavailable|ImageInspectError|ErrImageNeverPull)$/u,
    'check the name of the stemcell image, the credentials of the registry, and that the nodes reach it',
  ],
  [/^CrashLoopBackOff$/u, 'read why it ended: kubectl logs --previous'],
  [/^(?:CreateContainerConfigError|CreateContainerError|RunContainerError)$/u, 'fix what the message names'],
];

function waitingFinding(pod: Stored<Pod>, cid: string, surroundings: Surroundings): Finding | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason !== 'SchedulingGated')
    return {
      problem: `no node takes it${suffix(scheduled.message)}`,
      next: 'make room on a node that fits, add one, or request less: size, zone, node_selector',
    };
  for (const container of containersOf(pod)) {
    const { reason = '', message } = container.state?.waiting ?? {};
    const [, hint] = waitingHints.find(([pattern]) => pattern.test(reason)) ?? [];
    if (hint === undefined) continue;
    const isCrash = reason === 'CrashLoopBackOff';
    return {
      problem: `container ${container.name}: ${reason}${suffix(isCrash ? lastEnd(container) : (message ?? surroundings.warningFor(pod)))}`,
      next: isCrash ? `${hint} ${cid} -c ${container.name}` : hint,
    };
  }
  return undefined;
}

const lastEnd = ({ lastState }: ContainerStatus): string | undefined =>
  lastState?.terminated &&
  `it ended with exit code ${lastState.terminated.exitCode}${suffix(lastState.terminated.reason)}`;

/** A pod that starts is reported only if it takes long. */
function notReadyFinding(vm: VmItem, pod: Stored<Pod>, surroundings: Surroundings): Finding | undefined {
  if (isPodReady(pod) || !isLate(vm, surroundings)) return undefined;
  const reason = surroundings.warningFor(pod);
  return {
    problem: `it is not ready (${vm.state})${suffix(reason)}`,
    next: `look at its events and its log: kubectl describe pod ${vm.cid}; kubectl logs ${vm.cid}`,
  };
}

function restartFinding(pod: Stored<Pod>): Finding | undefined {
  const killed = containersOf(pod).find(({ lastState }) => lastState?.terminated?.reason === 'OOMKilled');
  if (killed === undefined) return undefined;
  const count = `${killed.restartCount} restart${killed.restartCount === 1 ? '' : 's'}`;
  return {
    problem: `container ${killed.name} was killed at its memory limit (${count})`,
    next: 'give its VM type more memory, or find the job that needs it',
  };
}

/** A VM keeps the scripts with which its pod was created. */
function outdatedFinding(vm: VmItem): Finding | undefined {
  const { pod } = vm;
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
  if (Number(pod.metadata.annotations?.[annotation.scriptsVersion] ?? 1) >= vmScriptsVersion)
    return undefined;
  return {
    problem:
      'it was made by an earlier version of the CPI and keeps its scripts, which lack security fixes, until it is recreated',
    next: recreateCommand(vm),
    severity: 'info',
  };
}
