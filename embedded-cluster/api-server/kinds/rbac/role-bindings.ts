import { clusterRoleBindings, roleBindings } from '../../../../src/kubernetes/resources.ts';
import type { RoleRef, Subject } from '../../access/rules-of-user.ts';
import { invalidValue, required, unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { jsonEqual } from '../../schema/json.ts';
import { fields, kindSchema, array, string } from '../../schema/schema.ts';
import type { MutableObject, Kind } from '../kind.ts';
import { checkName } from '../names.ts';

const group = 'rbac.authorization.k8s.io';

const schema = kindSchema({
  roleRef: fields({ apiGroup: string, kind: string, name: string }),
  subjects: array(fields({ kind: string, apiGroup: string, name: string, namespace: string })),
});

type DraftSubject = Partial<Subject> & { apiGroup?: string };

function fillDefaults(draft: MutableObject): void {
  const roleRef = (draft['roleRef'] ??= {}) as Partial<RoleRef> & { apiGroup?: string };
  if ((roleRef.apiGroup ?? '') === '') roleRef.apiGroup = group;
  for (const subject of (draft['subjects'] ?? []) as DraftSubject[]) {
    if (subject.kind !== 'User' && subject.kind !== 'Group') continue;
    if ((subject.apiGroup ?? '') === '') subject.apiGroup = group;
  }
}

/** kubernetes: pkg/apis/rbac/validation/validation.go */
function validate(draft: MutableObject, namespaced: boolean): Cause[] {
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
  const wantedGroup = kind === 'ServiceAccount' ? '' : group;
  return [
    ...(name === '' ? [required(`${path}.name`)] : []),
    ...(subjectKinds.includes(kind) ? [] : [unsupportedValue(`${path}.kind`, kind, subjectKinds)]),
    ...(apiGroup === wantedGroup || !subjectKinds.includes(kind)
      ? []
      : [unsupportedValue(`${path}.apiGroup`, apiGroup, [wantedGroup])]),
    ...(kind === 'ServiceAccount' && name !== '' ? checkName(`${path}.name`, name, 'subdomain') : []),
    ...(kind === 'ServiceAccount' && !namespaced && namespace === '' ? [required(`${path}.namespace`)] : []),
  ];
}

const common = {
  shortNames: [],
  categories: [],
  schema,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'segment',
  fillDefaults,
  validateUpdate: (draft: MutableObject, current) =>
    jsonEqual(draft['roleRef'], current['roleRef'])
      ? []
      : [invalidValue('roleRef', draft['roleRef'], 'cannot change roleRef')],
} satisfies Partial<Kind>;

export const roleBindingKind: Kind = {
  ...common,
  resource: roleBindings,
  name: 'RoleBinding',
  singular: 'rolebinding',
  validate: (draft) => validate(draft, true),
};

export const clusterRoleBindingKind: Kind = {
  ...common,
  resource: clusterRoleBindings,
  name: 'ClusterRoleBinding',
  singular: 'clusterrolebinding',
  validate: (draft) => validate(draft, false),
};
