import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { pods, priorityClasses, runtimeClasses } from '../../../../src/kubernetes/resources.ts';
import type { ApiError } from '../../../../src/kubernetes/client/api-error.ts';
import { forbidden } from '../../errors/status-errors.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { AdmissionContext } from '../kind.ts';

interface PriorityClass extends StoredObject {
  readonly value: number;
  readonly preemptionPolicy: string;
}

/**
 * Applies the admission plugin Priority: sets the values of the pod's class, or of the default class. Throws
 * ApiError 403 if the class does not exist or if the pod sets other values.
 */
export function resolvePriority({ spec, metadata }: Pod, context: AdmissionContext): void {
  const classes = context.list(priorityClasses) as readonly PriorityClass[];
  const refuse = (why: string): ApiError => forbidden(pods, metadata.name ?? '', why);
  const name = classNameOf(spec, classes);
  const found = classes.find((object) => object.metadata.name === name);
  if (name !== '' && found === undefined) throw refuse(`no PriorityClass with name ${name} was found`);
  if (name !== '') spec.priorityClassName = name;
  const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = found ?? {};
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refuse(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  spec.priority = value;
  spec.preemptionPolicy = preemptionPolicy;
}

/** Returns the pod's class, otherwise the default class; empty if there is neither. */
function classNameOf(spec: Pod['spec'], classes: readonly PriorityClass[]): string {
  const own = spec.priorityClassName ?? '';
  if (own !== '') return own;
  return classes.find((object) => object['globalDefault'] === true)?.metadata.name ?? '';
}

/** Applies the admission plugin RuntimeClass. Throws ApiError 403 if the class does not exist. */
export function admitRuntimeClass({ spec, metadata }: Pod, context: AdmissionContext): void {
  const { runtimeClassName: name } = spec;
  if (name === undefined) return;
  if (!context.list(runtimeClasses).some((object) => object.metadata.name === name))
    throw forbidden(
      pods,
      metadata.name ?? '',
      `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`,
    );
}
