import type { PodCondition, SchedulingGate } from '../../../../src/kubernetes/types/pod.ts';
import { duplicate, forbiddenField, type Cause } from '../../errors/field-causes.ts';
import { checkQualifiedName } from '../names.ts';
import { duplicateIndexes } from '../repeated-places.ts';

/**
 * Returns the causes for the gates of a new pod (kubernetes: pkg/apis/core/validation,
 * validateSchedulingGates and ValidatePodCreate).
 */
export function checkGates(
  at: string,
  { nodeName, schedulingGates = [] }: { nodeName?: string; schedulingGates?: readonly SchedulingGate[] },
): Cause[] {
  const path = (index: number): string => `${at}.schedulingGates[${index}]`;
  const names = schedulingGates.map(({ name }) => name);
  return [
    ...names.flatMap((name, index) => checkQualifiedName(path(index), name)),
    ...[...duplicateIndexes(names)].map((index) => duplicate(path(index), names[index])),
    ...(names.length > 0 && (nodeName ?? '') !== ''
      ? [forbiddenField(`${at}.nodeName`, 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ];
}

/** Returns the causes for gates that an update adds: it may only remove gates. */
export function addedGates(
  at: string,
  before: readonly SchedulingGate[],
  after: readonly SchedulingGate[],
): Cause[] {
  const known = new Set(before.map(({ name }) => name));
  return after.flatMap(({ name }, index) =>
    known.has(name)
      ? []
      : [
          forbiddenField(
            `${at}.schedulingGates[${index}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

/** Returns the condition that the server sets on a new pod with gates. */
export const gatedCondition = (now: string): PodCondition => ({
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
  lastProbeTime: null,
  lastTransitionTime: now,
});
