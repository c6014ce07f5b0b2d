import type {
  Affinity,
  PodAffinityTerm,
  SelectorRequirement,
  Toleration,
} from '../../../../src/kubernetes/types/pod.ts';
import {
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
  type Cause,
} from '../../errors/field-causes.ts';
import { checkQualifiedName } from '../names.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Returns the causes for one toleration. */
export function checkToleration(at: string, toleration: Toleration): Cause[] {
  const { key = '', operator = 'Equal', value = '', effect, tolerationSeconds } = toleration;
  return [
    ...(key === '' ? [] : checkQualifiedName(`${at}.key`, key)),
    ...(key === '' && operator !== 'Exists'
      ? [
          invalidValue(
            `${at}.operator`,
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
          ),
        ]
      : []),
    ...(['Equal', 'Exists'].includes(operator)
      ? []
      : [unsupportedValue(`${at}.operator`, operator, ['Equal', 'Exists'])]),
    ...(operator === 'Exists' && value !== ''
      ? [invalidValue(`${at}.operator`, toleration, "value must be empty when `operator` is 'Exists'")]
      : []),
    ...(effect === undefined || effects.includes(effect)
      ? []
      : [unsupportedValue(`${at}.effect`, effect, effects)]),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [
          invalidValue(
            `${at}.effect`,
            effect ?? '',
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
          ),
        ]
      : []),
  ];
}

/** Returns the causes for the affinities of a pod. */
export function checkAffinity(at: string, affinity: Affinity | undefined): Cause[] {
  const node = affinity?.nodeAffinity;
  const needed = node?.requiredDuringSchedulingIgnoredDuringExecution;
  const requiredAt = `${at}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  const terms = needed?.nodeSelectorTerms ?? [];
  return [
    ...(needed !== undefined && terms.length === 0
      ? [required(requiredAt, 'must have at least one node selector term')]
      : []),
    ...terms.flatMap((term, index) => [
      ...checkRequirements(`${requiredAt}[${index}].matchExpressions`, term.matchExpressions),
      ...checkRequirements(`${requiredAt}[${index}].matchFields`, term.matchFields),
    ]),
    ...(node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap((item, index) =>
      checkWeight(
        `${at}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}].weight`,
        item.weight,
      ),
    ),
    ...checkPodAffinity(`${at}.podAffinity`, affinity?.podAffinity),
    ...checkPodAffinity(`${at}.podAntiAffinity`, affinity?.podAntiAffinity),
  ];
}

function checkPodAffinity(at: string, affinity: Affinity['podAffinity']): Cause[] {
  const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const needed = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...needed.flatMap((term, i) =>
      checkTopology(`${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`, term),
    ),
    ...preferred.flatMap(({ weight, podAffinityTerm }, i) => {
      const here = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
      return [
        ...checkWeight(`${here}.weight`, weight),
        ...checkTopology(`${here}.podAffinityTerm`, podAffinityTerm),
      ];
    }),
  ];
}

function checkTopology(at: string, term: PodAffinityTerm | undefined): Cause[] {
  return (term?.topologyKey ?? '') === '' ? [required(`${at}.topologyKey`, 'can not be empty')] : [];
}

function checkWeight(field: string, weight: number): Cause[] {
  return weight >= 1 && weight <= 100 ? [] : [invalidValue(field, weight ?? 0, 'must be in the range 1-100')];
}

const operators = ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'];

function checkRequirements(at: string, requirements: readonly SelectorRequirement[] | undefined): Cause[] {
  return (requirements ?? []).flatMap(({ operator, values }, index) => {
    const field = `${at}[${index}]`;
    const count = values?.length ?? 0;
    if (!operators.includes(operator))
      return [invalidValue(`${field}.operator`, operator ?? '', 'not a valid selector operator')];
    if (['In', 'NotIn'].includes(operator) && count === 0) {
      return [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    }
    if (['Exists', 'DoesNotExist'].includes(operator) && count > 0) {
      return [
        forbiddenField(
          `${field}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
      ];
    }
    return ['Gt', 'Lt'].includes(operator) && count !== 1
      ? [required(`${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")]
      : [];
  });
}
