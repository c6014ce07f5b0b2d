import { ProductError } from '../errors/product-error.ts';
import { type KubernetesApi, ifAllowed, ignoreNotFound } from '../kubernetes/api.ts';
import { namespaces as namespaceResource, pods } from '../kubernetes/resources.ts';
import { type ListName, type Namespaces, type ObjectLists, listSources } from './object-lists.ts';

/**
 * Returns the namespaces of which it is not known whether they exist: no object was found in them, and the
 * account has no right that shows it. Rejects with KUBERNETES_NOT_FOUND if one does not exist: the API server
 * answers a list of objects in it like that of an empty namespace.
 */
export async function findUnknownNamespaces(
  api: Pick<KubernetesApi, 'get' | 'list'>,
  namespaces: Namespaces,
  lists: ObjectLists,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const name of emptyNamespaces(namespaces, lists)) {
    const get = api.get({ resource: namespaceResource, name });
    const exists = await ifAllowed(ignoreNotFound(get).then((found) => found !== undefined));
    if (exists === false) throw missingNamespace(name, namespaces);
    const mayListPods = (name === namespaces.vms ? lists.vmPods : lists.diskPods) !== undefined;
    if (exists === undefined && !(mayListPods && (await isRightOfNamespace(api)))) unknown.push(name);
  }
  return unknown;
}

/**
 * Returns true if the account may not list the pods of all namespaces. Then its right to list those of one is
 * that of a RoleBinding, which is in that namespace.
 */
const isRightOfNamespace = async (api: Pick<KubernetesApi, 'list'>): Promise<boolean> =>
  (await ifAllowed(api.list(pods, { fieldSelector: 'metadata.name=none' }))) === undefined;

function missingNamespace(name: string, { vms }: Namespaces): ProductError {
  const flag = name === vms ? '--namespace' : '--disk-namespace';
  return new ProductError(
    'KUBERNETES_NOT_FOUND',
    `Namespace '${name}' does not exist in the cluster; name another one with ${flag}, or another cluster with --kubeconfig`,
  );
}

/** Returns the namespaces in which no object was found. */
export function emptyNamespaces(namespaces: Namespaces, lists: ObjectLists): readonly string[] {
  const sources = Object.entries(listSources(namespaces));
  const used = sources
    .filter(([name]) => (lists[name as ListName] ?? []).length > 0)
    .map(([, { query }]) => query.namespace);
  return [...new Set([namespaces.vms, namespaces.disks])].filter((name) => !used.includes(name));
}
