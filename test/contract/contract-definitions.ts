import type { KubernetesApi, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { customResourceDefinitions } from '../../src/kubernetes/resources.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
}

export interface Definition extends KubernetesObject {
  spec: Record<string, unknown>;
  status?: { conditions?: readonly Condition[] };
}

export const group = 'contract.cloudfoundry.org';

/** A resource of the group that the contract defines. */
export const definedResource = (plural: string): Resource => ({
  group,
  version: 'v1',
  plural,
  namespaced: true,
});

/** A definition of the kind `<Kind>` with the plural `<kind>s`. */
export function definitionOf(kind: string, schema: object, version: object = {}): Definition {
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version },
      ],
    },
  };
}

export const referenceTo = (definition: Definition): { resource: Resource; name: string } => ({
  resource: customResourceDefinitions,
  name: definition.metadata.name ?? '',
});

export const hasCondition = (definition: Definition, type: string): boolean =>
  definition.status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;

/** Creates a definition and waits until its kind is established. */
export async function define(api: KubernetesApi, definition: Definition): Promise<void> {
  await api.create(customResourceDefinitions, definition);
  const ending = new AbortController();
  const query = {
    fieldSelector: `metadata.name=${definition.metadata.name}`,
    signal: ending.signal,
  };
  for await (const event of api.watch<Definition>(customResourceDefinitions, query)) {
    if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
    if (hasCondition(event.object, 'Established')) ending.abort();
  }
}
