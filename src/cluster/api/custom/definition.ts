import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { PrinterColumn } from './printer-columns.ts';
import type { StructuralSchema } from './structural-schema.ts';

export interface DefinitionNames {
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
  readonly subresources?: { readonly status?: Record<string, never> };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
}

export interface DefinitionCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** apiextensions.k8s.io/v1 CustomResourceDefinition, as far as this server knows it. */
export interface CustomResourceDefinition extends KubernetesObject {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: DefinitionNames;
    readonly versions: readonly DefinitionVersion[];
    readonly conversion?: { readonly strategy: 'None' };
  };
  readonly status?: {
    readonly conditions?: readonly DefinitionCondition[];
    readonly acceptedNames?: DefinitionNames;
    readonly storedVersions?: readonly string[];
  };
}

/** A stored definition has passed validation, so it has this shape. */
export function asDefinition(object: StoredObject): StoredObject & CustomResourceDefinition {
  return object as unknown as StoredObject & CustomResourceDefinition;
}

/** Whether its kind is served. */
export function isEstablished({ status }: CustomResourceDefinition): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => type === 'Established' && state === 'True',
  );
}

/** The version by which the server's own parts know its objects: the stored one, or the first that is served. */
export function servedVersion({ spec }: CustomResourceDefinition): DefinitionVersion | undefined {
  const served = spec.versions.filter((version) => version.served);
  return served.find(({ storage }) => storage) ?? served[0];
}
