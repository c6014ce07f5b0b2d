import { clusterRoles, roles, clusterRoleBindings, roleBindings } from '../../../src/kubernetes/resources.ts';
import type { PolicyRule } from '../access/policy-rule.ts';
import { invalidValue, required, type Cause, unsupportedValue } from '../errors/field-causes.ts';
import { fields, kindSchema, array, string } from '../schema/schema.ts';
import type { MutableObject, Kind } from './kind.ts';
import type { RoleRef, Subject } from '../access/rules-of-user.ts';
import { jsonEqual } from '../schema/json.ts';
import { checkName } from './checks.ts';

const roleSchema = kindSchema({
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
function validateRole(draft: MutableObject, namespaced: boolean): Cause[] {
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

const commonRole = {
  shortNames: [],
  categories: [],
  schema: roleSchema,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'segment',
} as const;

export const roleKind: Kind = {
  ...commonRole,
  resource: roles,
  name: 'Role',
  singular: 'role',
  validate: (draft) => validateRole(draft, true),
};

/** ClusterRole without aggregationRule, because no controller here aggregates roles. */
export const clusterRoleKind: Kind = {
  ...commonRole,
  resource: clusterRoles,
  name: 'ClusterRole',
  singular: 'clusterrole',
  validate: (draft) => validateRole(draft, false),
};

const group = 'rbac.authorization.k8s.io';

const bindingSchema = kindSchema({
  roleRef: fields({ apiGroup: string, kind: string, name: string }),
  subjects: array(fields({ kind: string, apiGroup: string, name: string, namespace: string })),
});

type DraftSubject = Partial<Subject> & { apiGroup?: string };

function fillBindingDefaults(draft: MutableObject): void {
  const roleRef = (draft['roleRef'] ??= {}) as Partial<RoleRef> & { apiGroup?: string };
  if ((roleRef.apiGroup ?? '') === '') roleRef.apiGroup = group;
  for (const subject of (draft['subjects'] ?? []) as DraftSubject[]) {
    if (subject.kind !== 'User' && subject.kind !== 'Group') continue;
    if ((subject.apiGroup ?? '') === '') subject.apiGroup = group;
  }
}

/** kubernetes: pkg/apis/rbac/validation/validation.go */
function validateBinding(draft: MutableObject, namespaced: boolean): Cause[] {
  const { apiGroup, kind = '', name = '' } = (draft['roleRef'] ?? {}) as Partial<RoleRef>;
  const kinds = namespaced ? ['ClusterRole', 'Role'] : ['ClusterRole'];
  return [
    ...(apiGroup === group ? [] : [unsupportedValue('roleRef.apiGroup', apiGroup, [group])]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue('roleRef.kind', kind, kinds)]),
    ...(name === '' ? [required('roleRef.name')] : checkName('roleRef.name', name, 'segment')),
    ...((draft['subjects'] ?? []) as DraftSubject[]).flatMap((subject, index) =>
      checkSubject(`subjects[${index}]`, subject, namespaced),
    ),
  ];
}

const subjectKinds = ['Group', 'ServiceAccount', 'User'];

function checkSubject(path: string, subject: DraftSubject, namespaced: boolean): Cause[] {
  const { kind = '', name = '', apiGroup = '', namespace = '' } = subject;
  const expectedGroup = kind === 'ServiceAccount' ? '' : group;
  return [
    ...(name === '' ? [required(`${path}.name`)] : []),
    ...(subjectKinds.includes(kind) ? [] : [unsupportedValue(`${path}.kind`, kind, subjectKinds)]),
    ...(apiGroup === expectedGroup || !subjectKinds.includes(kind)
      ? []
      : [unsupportedValue(`${path}.apiGroup`, apiGroup, [expectedGroup])]),
    ...(kind === 'ServiceAccount' && name !== '' ? checkName(`${path}.name`, name, 'subdomain') : []),
    ...(kind === 'ServiceAccount' && !namespaced && namespace === '' ? [required(`${path}.namespace`)] : []),
  ];
}

const commonBinding = {
  shortNames: [],
  categories: [],
  schema: bindingSchema,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'segment',
  fillDefaults: fillBindingDefaults,
  validateUpdate: (draft: MutableObject, current) =>
    jsonEqual(draft['roleRef'], current['roleRef'])
      ? []
      : [invalidValue('roleRef', draft['roleRef'], 'cannot change roleRef')],
} satisfies Partial<Kind>;

export const roleBindingKind: Kind = {
  ...commonBinding,
  resource: roleBindings,
  name: 'RoleBinding',
  singular: 'rolebinding',
  validate: (draft) => validateBinding(draft, true),
};

export const clusterRoleBindingKind: Kind = {
  ...commonBinding,
  resource: clusterRoleBindings,
  name: 'ClusterRoleBinding',
  singular: 'clusterrolebinding',
  validate: (draft) => validateBinding(draft, false),
};
