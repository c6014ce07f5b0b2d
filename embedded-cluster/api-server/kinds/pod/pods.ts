import type { Pod, ContainerState } from '../../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../../src/kubernetes/resources.ts';
import { unsupported } from '../../errors/field-causes.ts';
import { invalid } from '../../errors/status-errors.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt, ageOf } from '../columns.ts';
import type { AdmissionContext, MutableObject, Kind } from '../kind.ts';
import { admitServiceAccount, resolvePriority, admitRuntimeClass } from '../../admission/admit-pod.ts';
import { addDefaultTolerations, asPod, fillPodDefaults, qosClass } from './pod-defaults.ts';
import { podSchema } from './pod-schema.ts';
import { gatedCondition, validatePod, validatePodUpdate } from './pod-validation.ts';

const summaryColumn = (key: 'ready' | 'status' | 'restarts') => (object: StoredObject, now: number) =>
  summarizePod(object, now)[key];

export const podKind: Kind = {
  resource: pods,
  name: 'Pod',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  schema: podSchema,
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Ready', summaryColumn('ready')),
    column('Status', summaryColumn('status')),
    column('Restarts', summaryColumn('restarts')),
    ageColumn,
    column('IP', (object) => stringAt(object, ['status', 'podIP'], '<none>'), { wide: true }),
    column('Node', (object) => stringAt(object, ['spec', 'nodeName'], '<none>'), { wide: true }),
    column('Nominated Node', () => '<none>', { wide: true }),
    column('Readiness Gates', () => '<none>', { wide: true }),
  ],
  fillDefaults: fillPodDefaults,
  prepareCreate: admit,
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  selectableFields: (object) => ({
    'spec.nodeName': stringAt(object, ['spec', 'nodeName']),
    'spec.restartPolicy': stringAt(object, ['spec', 'restartPolicy']),
    'spec.schedulerName': stringAt(object, ['spec', 'schedulerName']),
    'spec.serviceAccountName': stringAt(object, ['spec', 'serviceAccountName']),
    'spec.hostNetwork': String(valueAt(object, 'spec', 'hostNetwork') === true),
    'status.phase': stringAt(object, ['status', 'phase']),
    'status.podIP': stringAt(object, ['status', 'podIP']),
    'status.nominatedNodeName': '',
  }),
  gracePeriod,
};

/**
 * Applies the strategy of pods and the admission plugins Priority, RuntimeClass, ServiceAccount and
 * DefaultTolerationSeconds.
 */
function admit(draft: MutableObject, context: AdmissionContext): void {
  const pod = asPod(draft);
  const { spec } = pod;
  // This check is not in validatePod, which would also reject every update of a stored pod that has the
  // field.
  if (spec.enableServiceLinks === true)
    throw invalid('Pod', '', pod.metadata.name, [unsupported('spec.enableServiceLinks', 'service links')]);
  resolvePriority(pod, context);
  admitRuntimeClass(pod, context);
  admitServiceAccount(pod, context);
  addDefaultTolerations(spec);
  pod.status = {
    phase: 'Pending',
    qosClass: qosClass(spec),
    ...((spec.schedulingGates ?? []).length > 0 && { conditions: [gatedCondition(context.now)] }),
  };
}

/**
 * Returns 0 for pods without a node and for terminal pods (pkg/registry/core/pod/strategy.go
 * CheckGracefulDelete).
 */
function gracePeriod(object: StoredObject, requested: number | undefined): number {
  const { spec, status } = object as unknown as Pod;
  const ended = status?.phase === 'Failed' || status?.phase === 'Succeeded';
  if ((spec.nodeName ?? '') === '' || ended) return 0;
  return requested ?? spec.terminationGracePeriodSeconds ?? 30;
}

interface PodSummary {
  /** `1/1` */
  readonly ready: string;
  /** The STATUS column: `Running`, `Init:0/1`, `CrashLoopBackOff`, `Terminating` */
  readonly status: string;
  /** `2 (5m ago)` */
  readonly restarts: string;
}

/** Returns the columns of `kubectl get pods` (pkg/printers/internalversion/printers.go, printPod). */
function summarizePod(object: StoredObject, now: number): PodSummary {
  const pod = object as unknown as Pod;
  const initial = pod.status?.initContainerStatuses ?? [];
  const main = pod.status?.containerStatuses ?? [];
  const initializing = initStatus(pod);
  const counted = initializing === undefined ? main : initial;
  const restarts = counted.reduce((sum, status) => sum + status.restartCount, 0);
  const finished = counted
    .map((status) => status.lastState?.terminated?.finishedAt)
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1);
  const ready = main.filter((status) => status.ready && status.state?.running !== undefined).length;
  return {
    ready: `${ready}/${pod.spec.containers.length}`,
    status: terminating(pod) ?? initializing ?? mainStatus(pod),
    restarts:
      restarts > 0 && finished !== undefined ? `${restarts} (${ageOf(finished, now)} ago)` : String(restarts),
  };
}

function terminating({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return ['Failed', 'Succeeded'].includes(status?.phase ?? '') ? undefined : 'Terminating';
}

function initStatus(pod: Pod): string | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const index = statuses.findIndex(({ state }) => state?.terminated?.exitCode !== 0);
  const state = statuses[index]?.state;
  if (state === undefined) return undefined;
  if (state.terminated !== undefined) return `Init:${terminatedReason(state)}`;
  const reason = state.waiting?.reason ?? '';
  if (reason !== '' && reason !== 'PodInitializing') return `Init:${reason}`;
  return `Init:${index}/${pod.spec.initContainers?.length ?? 0}`;
}

function mainStatus(pod: Pod): string {
  const phase = pod.status?.reason ?? pod.status?.phase ?? 'Unknown';
  const statuses = pod.status?.containerStatuses ?? [];
  const reasons = statuses.toReversed().map(({ state }) => {
    if ((state?.waiting?.reason ?? '') !== '') return state?.waiting?.reason;
    return state?.terminated === undefined ? undefined : terminatedReason(state);
  });
  const reason = reasons.findLast((found) => found !== undefined) ?? phase;
  const running = statuses.some(({ state, ready }) => ready && state?.running !== undefined);
  if (reason !== 'Completed' || !running) return reason;
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
    ? 'Running'
    : 'NotReady';
}

function terminatedReason({ terminated }: ContainerState): string {
  if ((terminated?.reason ?? '') !== '') return terminated?.reason ?? '';
  const signal = terminated?.signal ?? 0;
  return signal === 0 ? `ExitCode:${terminated?.exitCode ?? 0}` : `Signal:${signal}`;
}
