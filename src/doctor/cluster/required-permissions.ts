import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** ResourceAttributes of authorization.k8s.io/v1. */
export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

interface RoleDocument {
  readonly kind: string;
  readonly rules?: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

/** The roles in manifests/rbac. */
export interface Roles {
  /** The role of the CPI in the namespace of its VMs. */
  readonly vms: readonly RoleDocument[];
  /** The role of the CPI in the namespace of the disks, if that is another one. */
  readonly disks: readonly RoleDocument[];
  /** The role of the CPI at the scope of the cluster. Each of its rights is optional. */
  readonly cluster: readonly RoleDocument[];
  /** The role that an operator needs for a tunnel. */
  readonly tunnel: readonly RoleDocument[];
}

/** Reads the roles in manifests/rbac of that installation. */
export async function readRoles(root: string): Promise<Roles> {
  const read = async (...path: readonly string[]): Promise<RoleDocument[]> => {
    const text = await readFile(join(root, 'manifests', 'rbac', ...path), 'utf8');
    return parseAllDocuments(text).map((each) => each.toJS() as RoleDocument);
  };
  const [vms, disks, cluster, tunnel] = await Promise.all([
    read('namespaced.yaml'),
    read('disks', 'disk-namespace.yaml'),
    read('cluster.yaml'),
    read('tunnel.yaml'),
  ]);
  return { vms, disks, cluster, tunnel };
}

/**
 * Returns the rights that an operator needs to create the account of the CPI and its roles. They include each
 * right in the roles, because Kubernetes lets no user grant more rights than they have.
 */
export function installPermissions(namespace: string, { vms, cluster }: Roles): Permission[] {
  return [...permissionsToInstall(namespace), ...permissionsIn(namespace, [...vms, ...cluster])];
}

/** Returns the right that an operator needs to give the CPI on this machine a token of its account. */
export const tokenPermission = (namespace: string): Permission => ({
  ...{ verb: 'create', group: '', resource: 'serviceaccounts' },
  ...{ subresource: 'token', namespace },
});

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

/** Returns the rights in the roles; those of a Role are in that namespace. */
export function permissionsIn(namespace: string, roles: readonly RoleDocument[]): Permission[] {
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

/** A message with more names would not help. */
const maxShownPermissions = 3;

/** Describes the rights that are missing: the first ones, and how many more. */
export function describePermissions(permissions: readonly Permission[]): string {
  const more = permissions.length - maxShownPermissions;
  const names = permissions.slice(0, maxShownPermissions).map(describePermission).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}
