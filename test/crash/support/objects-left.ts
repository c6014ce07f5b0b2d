import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
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
import type { RestApi } from '../../../src/kubernetes/client/rest-api.ts';

/** All resources that the CPI writes: manifests/rbac/namespaced.yaml permits no others. */
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
 * Returns every object of these kinds in the namespace, as `plural kind name`. Uses no selector, because a
 * claim that the cluster creates for a pod's ephemeral volume has none of our labels.
 */
export async function objectsLeft(api: RestApi, namespace: string): Promise<string[]> {
  const lists = await Promise.all(written.map((resource) => linesOf(api, resource, namespace)));
  return lists.flat().toSorted();
}

async function linesOf(api: RestApi, resource: Resource, namespace: string): Promise<string[]> {
  try {
    const { items } = await api.list(resource, { namespace });
    return items.map(({ metadata: { name, labels = {} } }) =>
      [resource.plural, labels['bosh.cloudfoundry.org/kind'] ?? 'unlabelled', name].join(' '),
    );
  } catch (error) {
    // The cluster does not have this kind.
    if (isApiError(error, 404)) return [];
    throw error;
  }
}
