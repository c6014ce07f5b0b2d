import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../../src/kubernetes/resources.ts';
import { unsupported } from '../../errors/field-causes.ts';
import { invalid } from '../../errors/status-errors.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from '../columns.ts';
import type { AdmissionContext, MutableObject, Kind } from '../kind.ts';
import { admitServiceAccount } from './account-admission.ts';
import { resolvePriority, admitRuntimeClass } from './class-admission.ts';
import { addDefaultTolerations, asPod, fillPodDefaults, qosClass } from './pod-defaults.ts';
import { podSchema } from './pod-schema.ts';
import { summarizePod } from './pod-summary.ts';
import { gatedCondition } from './scheduling-gates.ts';
import { validatePod, validatePodUpdate } from './pod-validation.ts';

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
    throw invalid('Pod', '', pod.metadata.name ?? '', [
      unsupported('spec.enableServiceLinks', 'service links'),
    ]);
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

const shown = (key: 'ready' | 'status' | 'restarts') => (object: StoredObject, now: number) =>
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
    column('Ready', shown('ready')),
    column('Status', shown('status')),
    column('Restarts', shown('restarts')),
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
