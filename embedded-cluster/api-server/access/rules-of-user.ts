import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../src/kubernetes/resources.ts';
import { groupResource, notFound } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { PolicyRule } from './policy-rule.ts';
import { serviceAccountUsername, type User } from './user.ts';

export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

interface Binding extends StoredObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

/** The rules of a user in a namespace, and an error for each binding whose role does not exist. */
export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  readonly problems: readonly string[];
}

type RbacReader = Pick<Registry, 'store'>;

/**
 * Returns the rules that bindings grant to a user, at cluster scope and, if a namespace is given, in that
 * namespace (kubernetes: pkg/registry/rbac/validation/rule.go). A binding to a role that does not exist
 * grants nothing.
 */
export function rulesFor(registry: RbacReader, user: User, namespace: string | undefined): ResolvedRules {
  const rules: PolicyRule[] = [];
  const problems: string[] = [];
  for (const { roleRef, subjects = [], metadata } of bindingsFor(registry, namespace)) {
    if (!subjects.some((subject) => appliesTo(user, subject, metadata.namespace))) continue;
    try {
      rules.push(...rulesOfRole(registry, roleRef, metadata.namespace));
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
      problems.push(error.message);
    }
  }
  return { rules, problems };
}

function bindingsFor({ store }: RbacReader, namespace: string | undefined): Binding[] {
  return [
    ...store.list(groupResource(clusterRoleBindings)),
    ...(namespace === undefined || namespace === ''
      ? []
      : store.list(groupResource(roleBindings), namespace)),
  ] as unknown as Binding[];
}

/** Returns the rules of the role that a binding names. Throws ApiError 404. */
export function rulesOfRole(
  { store }: RbacReader,
  { kind, name }: RoleRef,
  namespace: string | undefined,
): readonly PolicyRule[] {
  const resource = kind === 'Role' ? roles : clusterRoles;
  const role = store.get(groupResource(resource), kind === 'Role' ? namespace : undefined, name);
  if (role === undefined) throw notFound({ ...resource, plural: kind.toLowerCase() }, name);
  return (role['rules'] ?? []) as PolicyRule[];
}

function appliesTo(user: User, subject: Subject, bindingNamespace: string | undefined): boolean {
  switch (subject.kind) {
    case 'User':
      return user.name === subject.name;
    case 'Group':
      return user.groups.includes(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace ?? bindingNamespace ?? '';
      return namespace !== '' && user.name === serviceAccountUsername(namespace, subject.name);
    }
    default:
      return false;
  }
}
