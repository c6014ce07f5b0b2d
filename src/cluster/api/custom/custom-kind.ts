import type { Resource } from '../../../kubernetes/api.ts';
import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import { invalidValue } from '../errors/field-causes.ts';
import { forbidden, groupResource } from '../errors/status-errors.ts';
import type { AdmissionContext, Kind } from '../kinds/kind.ts';
import { kindSchema } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { asDefinition, servedVersion } from './definition.ts';
import type { CustomResourceDefinition, DefinitionVersion } from './definition.ts';
import { printerColumns } from './printer-columns.ts';
import { checkSchemaRules, hasRules } from './rules/schema-rules.ts';
import { fillStructuralDefaults } from './structural-defaults.ts';
import { validateStructural } from './structural-validation.ts';

/** The kind that an established definition defines; undefined where it serves no version. */
export function customKind(definition: CustomResourceDefinition): Kind | undefined {
  const version = servedVersion(definition);
  if (version === undefined) return undefined;
  const others = definition.spec.versions.filter((other) => other.served && other.name !== version.name);
  if (others.length === 0) return kindOfVersion(definition, version);
  return {
    ...kindOfVersion(definition, version),
    otherVersions: others.map((other) => ({
      ...kindOfVersion(definition, other),
      storedVersion: version.name,
    })),
  };
}

/** The kind as its objects are stored, whether it is served or not. Throws for a definition that was never valid. */
export function storedKind(definition: CustomResourceDefinition): Kind {
  const version = definition.spec.versions.find(({ storage }) => storage);
  if (version === undefined) throw new Error(`${definition.metadata.name ?? ''} has no storage version`);
  return kindOfVersion(definition, version);
}

function kindOfVersion({ spec }: CustomResourceDefinition, version: DefinitionVersion): Kind {
  const { group, names, scope } = spec;
  const custom = version.schema.openAPIV3Schema;
  const content = withoutMetadata(custom);
  const resource = { group, version: version.name, plural: names.plural, namespaced: scope === 'Namespaced' };
  const hasStatus = version.subresources?.status !== undefined;
  return {
    resource,
    name: names.kind,
    singular: names.singular ?? names.kind.toLowerCase(),
    ...(names.listKind === undefined ? {} : { listName: names.listKind }),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    schema: kindSchema({}),
    custom,
    hasStatus,
    countsGenerations: true,
    nameRule: 'subdomain',
    columns: printerColumns(version.additionalPrinterColumns),
    fillDefaults: (draft) => fillStructuralDefaults(custom, draft),
    prepareCreate: (draft, context) => {
      assertNotTerminating(resource, draft, context);
      if (hasStatus) delete draft['status'];
    },
    validate: (draft) => {
      const causes = validateStructural(content, contentOf(draft), '');
      if (causes.length === 0) return checkSchemaRules(content, contentOf(draft), '');
      return hasRules(content) && causes.some(({ reason }) => blocking.has(reason))
        ? [...causes, rulesNotChecked]
        : causes;
    },
    validateUpdate: (draft, current) =>
      checkSchemaRules(content, contentOf(draft), '', { value: contentOf(current) }),
  };
}

/** Causes after which rules are not evaluated (apiextensions pkg/registry/customresource/strategy.go, hasBlockingErr). */
const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const rulesNotChecked = invalidValue(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

function contentOf({ metadata: _metadata, ...content }: StoredObject): unknown {
  return content;
}

/** metadata is checked as that of any other kind. */
function withoutMetadata(schema: DefinitionVersion['schema']['openAPIV3Schema']): typeof schema {
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  const required = (schema.required ?? []).filter((key) => key !== 'metadata');
  return { ...schema, properties, required };
}

function assertNotTerminating(
  resource: Resource,
  { metadata }: StoredObject,
  context: AdmissionContext,
): void {
  const name = groupResource(resource);
  const stored = context.list(customResourceDefinitions).find((each) => each.metadata.name === name);
  if (stored === undefined || asDefinition(stored).metadata.deletionTimestamp === undefined) return;
  const why = 'create not allowed while custom resource definition is terminating';
  throw forbidden(resource, metadata.name, why);
}
