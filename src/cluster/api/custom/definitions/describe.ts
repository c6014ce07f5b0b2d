import type { CustomResourceDefinition, DefinitionVersion } from '../definition.ts';
import type { PrinterColumn } from '../printer-columns.ts';
import type { StructuralSchema } from '../structural-schema.ts';

/** A schema of text. */
export const string = (more: Partial<StructuralSchema> = {}): StructuralSchema => ({
  type: 'string',
  ...more,
});

/** Text that stays as it was created. */
export const fixed = (name: string): StructuralSchema =>
  string({ 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: `${name} is immutable` }] });

/** That none of these members goes once it is set. */
export const keeps = (
  ...keys: readonly string[]
): NonNullable<StructuralSchema['x-kubernetes-validations']> =>
  keys.map((key) => ({
    rule: `!has(oldSelf.${key}) || has(self.${key})`,
    message: `${key} is required once set`,
  }));

/** A schema of an object with these members. */
export const object = (
  properties: Record<string, StructuralSchema>,
  more: Partial<StructuralSchema> = {},
): StructuralSchema => ({ type: 'object', properties, ...more });

/** A printer column. */
export const printed = (name: string, type: PrinterColumn['type'], jsonPath: string): PrinterColumn => ({
  name,
  type,
  jsonPath,
});

export interface Description {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly annotations?: Record<string, string>;
  readonly version: Omit<DefinitionVersion, 'name' | 'served' | 'storage'>;
}

/** A definition with one version, `v1`. */
export function describeKind(description: Description): CustomResourceDefinition {
  const { group, plural, kind, shortNames, scope, annotations, version } = description;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      group,
      scope,
      names: { plural, kind, shortNames },
      versions: [{ name: 'v1', served: true, storage: true, ...version }],
    },
  };
}
