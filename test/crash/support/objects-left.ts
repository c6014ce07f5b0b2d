import { isApiError } from '../../../src/kubernetes/api-error.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import {
  networkAttachmentDefinitions,
  networkPolicies,
  persistentVolumeClaims,
  podDisruptionBudgets,
  pods,
  secrets,
  services,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import type { RestApi } from '../../../src/kubernetes/rest-api.ts';

/** All that the CPI writes: manifests/rbac/namespaced.yaml allows it no other. */
const written: readonly Resource[] = [
  pods,
  persistentVolumeClaims,
  secrets,
  services,
  podDisruptionBudgets,
  networkPolicies,
  volumeSnapshots,
  networkAttachmentDefinitions,
];

/**
 * Every object of those kinds in the namespace, as `plural kind name`. Without a selector: a claim that the cluster makes for
 * a pod's ephemeral volume has none of our labels.
 */
export async function objectsLeft(api: RestApi, namespace: string): Promise<string[]> {
  const lists = await Promise.all(written.map((resource) => linesOf(api, resource, namespace)));
  return lists.flat().toSorted();
}

async function linesOf(api: RestApi, resource: Resource, namespace: string): Promise<string[]> {
  try {
    const { items } = await api.list(resource, { namespace });
    return items.map(({ metadata: { name = '', labels = {} } }) =>
      [resource.plural, labels['bosh.cloudfoundry.org/kind'] ?? 'unlabelled', name].join(' '),
    );
  } catch (error) {
    // the cluster has no such kind
    if (isApiError(error, 404)) return [];
    throw error;
  }
}
