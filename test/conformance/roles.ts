import assert from 'node:assert/strict';
import * as resources from '../../src/kubernetes/resources.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../../src/kubernetes/api.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { readManifest } from '../cpi/roles-world.ts';

export const account = 'bosh-cpi';

const kinds: Readonly<Record<string, Resource>> = {
  ServiceAccount: resources.serviceAccounts,
  Role: resources.roles,
  RoleBinding: resources.roleBindings,
  ClusterRole: resources.clusterRoles,
  ClusterRoleBinding: resources.clusterRoleBindings,
};

/** Rules of a role, as the manifests have them. */
interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/**
 * Creates the objects of manifests/rbac, for `account` of `namespace`, in that namespace and in `others`.
 * Cluster-scoped objects get the namespace's name, so that suites do not conflict. `change` may remove rules.
 */
export async function applyRoles(
  api: KubernetesApi,
  { namespace, others = [], change = (rule) => rule }: RoleOptions,
): Promise<void> {
  for (const object of [...readManifest('namespaced'), ...readManifest('cluster')]) {
    const resource = kinds[object.kind];
    assert.ok(resource !== undefined, object.kind);
    for (const roleNamespace of resource.namespaced ? [namespace, ...others] : [undefined]) {
      await createOnce(api, resource, placed(object, { roleNamespace, namespace, change }));
    }
  }
}

export interface RoleOptions {
  readonly namespace: string;
  readonly others?: readonly string[];
  readonly change?: (rule: Rule) => Rule;
}

/** Returns a token of `account` that is valid for an hour. */
export async function tokenOf(access: Access, namespace: string): Promise<string> {
  const transport = await openTransport(access);
  try {
    const { status, body } = await transport.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: 3600 },
      }),
    });
    assert.equal(status, 201, body);
    return (JSON.parse(body) as { status: { token: string } }).status.token;
  } finally {
    transport.close();
  }
}

/** Returns a kubeconfig for the cluster of `access` with a token and nothing else. */
export function tokenKubeconfig({ server, ca = '' }: Access, token: string): object {
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return {
    'current-context': 'conformance',
    clusters: [{ name: 'conformance', cluster }],
    users: [{ name: account, user: { token } }],
    contexts: [{ name: 'conformance', context: { cluster: 'conformance', user: account } }],
  };
}

function placed(
  object: KubernetesObject & { kind: string },
  {
    roleNamespace: location,
    namespace,
    change,
  }: { roleNamespace: string | undefined; namespace: string; change: (rule: Rule) => Rule },
): KubernetesObject {
  const copy = structuredClone(object) as KubernetesObject & {
    rules?: Rule[];
    roleRef?: { name: string };
    subjects?: { namespace?: string }[];
  };
  if (location === undefined) copy.metadata = { ...copy.metadata, name: `bosh-cpi-${namespace}` };
  else copy.metadata = { ...copy.metadata, namespace: location };
  if (location === undefined && copy.roleRef !== undefined) copy.roleRef.name = `bosh-cpi-${namespace}`;
  for (const subject of copy.subjects ?? []) subject.namespace = namespace;
  if (copy.rules !== undefined) copy.rules = copy.rules.map(change).filter(({ verbs }) => verbs.length > 0);
  return copy;
}

async function createOnce(api: KubernetesApi, resource: Resource, object: KubernetesObject): Promise<void> {
  try {
    await api.create(resource, object);
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
  }
}
