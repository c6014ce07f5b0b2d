import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AccessMode } from './director-directory.ts';

/** ResourceAttributes of authorization.k8s.io/v1. */
export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

export interface PermissionQuery {
  readonly namespace: string;
  readonly way: AccessMode;
  /** The account and its roles exist: an administrator created them. */
  readonly hasAccount: boolean;
}

interface RoleDocument {
  readonly kind: string;
  readonly rules?: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

/** The roles in manifests/rbac. */
export interface Roles {
  /** The roles of the CPI's account. */
  readonly account: readonly RoleDocument[];
  /** The roles that an operator needs for a tunnel. */
  readonly tunnel: readonly RoleDocument[];
}

/** Reads the roles in manifests/rbac of that installation. */
export async function readRoles(root: string): Promise<Roles> {
  const read = async (name: string): Promise<RoleDocument[]> => {
    const text = await readFile(join(root, 'manifests', 'rbac', name), 'utf8');
    return parseAllDocuments(text).map((each) => each.toJS() as RoleDocument);
  };
  const account = await Promise.all(['namespaced.yaml', 'cluster.yaml'].map(read));
  return { account: account.flat(), tunnel: await read('tunnel.yaml') };
}

/**
 * Returns the rights that the operator needs: creating a token of the account, the requests of the tunnel,
 * and, if the account does not exist yet, creating it and its roles. For that the operator also needs each
 * right in the roles, because Kubernetes lets no user grant more rights than they have.
 */
export function requiredPermissions(
  { namespace, way, hasAccount }: PermissionQuery,
  { account, tunnel }: Roles,
): Permission[] {
  const core = { group: '', namespace };
  const token: Permission = { ...core, verb: 'create', resource: 'serviceaccounts', subresource: 'token' };
  return [
    token,
    ...(way === 'tunnel' ? permissionsIn(namespace, tunnel) : []),
    ...(hasAccount ? [] : [...permissionsToInstall(namespace), ...permissionsIn(namespace, account)]),
  ];
}

function permissionsToInstall(namespace: string): Permission[] {
  const rbac = 'rbac.authorization.k8s.io';
  const admission = 'admissionregistration.k8s.io';
  return [
    { group: '', resource: 'namespaces' },
    { group: '', resource: 'persistentvolumes' },
    { group: '', resource: 'serviceaccounts', namespace },
    { group: rbac, resource: 'roles', namespace },
    { group: rbac, resource: 'rolebindings', namespace },
    { group: rbac, resource: 'clusterroles' },
    { group: rbac, resource: 'clusterrolebindings' },
    { group: admission, resource: 'validatingadmissionpolicies' },
    { group: admission, resource: 'validatingadmissionpolicybindings' },
  ].map((each) => ({ verb: 'create', ...each }));
}

function permissionsIn(namespace: string, roles: readonly RoleDocument[]): Permission[] {
  return roles.flatMap(({ kind, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((name) => {
          const [resource = '', subresource] = name.split('/');
          return verbs.map((verb) => ({
            ...{ verb, group, resource },
            ...(subresource !== undefined && { subresource }),
            ...(kind === 'Role' && { namespace }),
          }));
        }),
      ),
    ),
  );
}

/** Describes a right for an error: `create pods/exec in 'bosh'`. */
export function describePermission({ verb, resource, subresource, namespace }: Permission): string {
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${name}${namespace === undefined ? '' : ` in '${namespace}'`}`;
}
