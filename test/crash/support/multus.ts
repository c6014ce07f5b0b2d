import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { networkAttachmentDefinitions } from '../../../src/kubernetes/resources.ts';
import { customResourceDefinitions } from '../../support/custom-resource-definitions.ts';
import { until } from '../../support/until.ts';

const { group, plural } = networkAttachmentDefinitions;
export const multusDefinition = { resource: customResourceDefinitions, name: `${plural}.${group}` };

const spec = { type: 'object', properties: { config: { type: 'string' } } };
const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
const definition = {
  metadata: { name: multusDefinition.name },
  spec: {
    ...{ group, scope: 'Namespaced', names: { plural, kind: 'NetworkAttachmentDefinition' } },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  },
};

/**
 * Installs the NetworkAttachmentDefinition kind in a real cluster. Returns false if the cluster already has
 * it.
 */
export async function installMultus(api: KubernetesApi): Promise<boolean> {
  const isServed = (): Promise<boolean> =>
    api.list(networkAttachmentDefinitions).then(
      () => true,
      (error: unknown) => {
        if (isApiError(error, 404)) return false;
        throw error;
      },
    );
  if (await isServed()) return false;
  await api.create(multusDefinition.resource, definition);
  await until('network-attachment-definitions to be served', isServed);
  return true;
}
