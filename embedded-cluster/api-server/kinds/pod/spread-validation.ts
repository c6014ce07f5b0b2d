import type { TopologySpreadConstraint } from '../../../../src/kubernetes/types/pod.ts';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
  type Cause,
} from '../../errors/field-causes.ts';
import { checkQualifiedName } from '../names.ts';

const actions = ['DoNotSchedule', 'ScheduleAnyway'];

/**
 * Returns the causes for the topology spread constraints of a pod (pkg/apis/core/validation,
 * validateTopologySpreadConstraints).
 */
export function checkSpread(
  at: string,
  constraints: readonly Partial<TopologySpreadConstraint>[] | undefined,
): Cause[] {
  const seen = new Set<string>();
  return (constraints ?? []).flatMap((constraint, index) => {
    const { topologyKey = '', whenUnsatisfiable } = constraint;
    const field = `${at}[${index}]`;
    const pair = `{${topologyKey}, ${whenUnsatisfiable ?? ''}}`;
    const isRepeated = seen.has(pair);
    seen.add(pair);
    return [
      ...checkConstraint(field, constraint),
      ...(isRepeated ? [duplicate(`${field}.{topologyKey, whenUnsatisfiable}`, pair)] : []),
    ];
  });
}

function checkConstraint(field: string, constraint: Partial<TopologySpreadConstraint>): Cause[] {
  const { maxSkew = 0, topologyKey = '', whenUnsatisfiable, minDomains } = constraint;
  return [
    ...(maxSkew > 0 ? [] : [invalidValue(`${field}.maxSkew`, maxSkew, 'must be greater than zero')]),
    ...(topologyKey === ''
      ? [required(`${field}.topologyKey`, 'can not be empty')]
      : checkQualifiedName(`${field}.topologyKey`, topologyKey)),
    ...(actions.includes(whenUnsatisfiable ?? '')
      ? []
      : [unsupportedValue(`${field}.whenUnsatisfiable`, whenUnsatisfiable ?? '', actions)]),
    ...(minDomains === undefined || minDomains > 0
      ? []
      : [invalidValue(`${field}.minDomains`, minDomains, 'must be greater than zero')]),
    ...(minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule'
      ? [forbiddenField(`${field}.minDomains`, 'can only use minDomains if whenUnsatisfiable=DoNotSchedule')]
      : []),
  ];
}
