import type { LabelSelector, SelectorRequirement } from './pod.ts';

type Labels = Readonly<Record<string, string>>;

/** True if the labels match the requirement (apimachinery pkg/labels/selector.go, Requirement.Matches). */
export function matchesRequirement(
  { key, operator, values = [] }: SelectorRequirement,
  labels: Labels,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compareIntegers(value, values[0], (one, other) => one > other);
    case 'Lt':
      return compareIntegers(value, values[0], (one, other) => one < other);
    default:
      return operator satisfies never;
  }
}

/** True if the labels match the selector. An empty selector matches everything. */
export function matchesLabelSelector(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => matchesRequirement(requirement, labels))
  );
}

function compareIntegers(
  one: string | undefined,
  other: string | undefined,
  holds: (one: bigint, other: bigint) => boolean,
): boolean {
  const integer = /^[+-]?\d+$/u;
  if (one === undefined || other === undefined || !integer.test(one) || !integer.test(other)) {
    return false;
  }
  return holds(BigInt(one), BigInt(other));
}
