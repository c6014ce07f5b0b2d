import { clusterRoles, roles } from '../../../../src/kubernetes/resources.ts';
import type { PolicyRule } from '../../access/policy-rule.ts';
import { invalidValue, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, kindSchema, array, string } from '../../schema/schema.ts';
import type { MutableObject, Kind } from '../kind.ts';

const schema = kindSchema({
  rules: array(
    fields({
      verbs: array(string),
      apiGroups: array(string),
      resources: array(string),
      resourceNames: array(string),
      nonResourceURLs: array(string),
    }),
  ),
});

/** kubernetes: pkg/apis/rbac/validation/validation.go */
function validate(draft: MutableObject, namespaced: boolean): Cause[] {
  return ((draft['rules'] ?? []) as PolicyRule[]).flatMap((rule, index) =>
    checkRule(`rules[${index}]`, rule, namespaced),
  );
}

function checkRule(at: string, rule: PolicyRule, namespaced: boolean): Cause[] {
  const { verbs, nonResourceURLs: urls, apiGroups, resources, resourceNames } = rule;
  const noVerbs =
    verbs === undefined ? [required(`${at}.verbs`, 'verbs must contain at least one value')] : [];
  if (urls !== undefined) {
    const wrong = (detail: string): Cause => invalidValue(`${at}.nonResourceURLs`, urls, detail);
    const mixed = [apiGroups, resources, resourceNames].some((list) => list !== undefined);
    return [
      ...noVerbs,
      ...(namespaced ? [wrong('namespaced rules cannot apply to non-resource URLs')] : []),
      ...(mixed ? [wrong('rules cannot apply to both regular resources and non-resource URLs')] : []),
    ];
  }
  return [
    ...noVerbs,
    ...(apiGroups === undefined
      ? [required(`${at}.apiGroups`, 'resource rules must supply at least one api group')]
      : []),
    ...(resources === undefined
      ? [required(`${at}.resources`, 'resource rules must supply at least one resource')]
      : []),
  ];
}

const common = {
  shortNames: [],
  categories: [],
  schema,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'segment',
} as const;

export const roleKind: Kind = {
  ...common,
  resource: roles,
  name: 'Role',
  singular: 'role',
  validate: (draft) => validate(draft, true),
};

/** ClusterRole without aggregationRule, because no controller here aggregates roles. */
export const clusterRoleKind: Kind = {
  ...common,
  resource: clusterRoles,
  name: 'ClusterRole',
  singular: 'clusterrole',
  validate: (draft) => validate(draft, false),
};
