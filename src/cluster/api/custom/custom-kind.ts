import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import { groupResource, statusError } from '../errors/status-errors.ts';
import type { AdmissionContext, Kind } from '../kinds/kind.ts';
import { kindSchema } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { asDefinition, servedVersion } from './definition.ts';
import type { CustomResourceDefinition, DefinitionVersion } from './definition.ts';
import { printerColumns } from './printer-columns.ts';
import { checkSchemaRules } from './rules/schema-rules.ts';
import { fillStructuralDefaults } from './structural-defaults.ts';
import { validateStructural } from './structural-validation.ts';

/** The kind that an established definition defines; undefined where it serves no version. */
export function customKind(definition: CustomResourceDefinition): Kind | undefined {
  const version = servedVersion(definition);
  return version === undefined ? undefined : kindOfVersion(definition, version);
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
  const hasStatus = version.subresources?.status !== undefined;
  return {
    resource: { group, version: version.name, plural: names.plural, namespaced: scope === 'Namespaced' },
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
      assertNotTerminating(`${names.plural}.${group}`, context);
      if (hasStatus) delete draft['status'];
    },
    validate: (draft) => {
      const causes = validateStructural(content, contentOf(draft), '');
      return causes.length > 0 ? causes : checkSchemaRules(content, contentOf(draft), '');
    },
    validateUpdate: (draft, current) =>
      checkSchemaRules(content, contentOf(draft), '', { value: contentOf(current) }),
  };
}

function contentOf({ metadata: _metadata, ...content }: StoredObject): unknown {
  return content;
}

/** metadata is checked as that of any other kind. */
function withoutMetadata(schema: DefinitionVersion['schema']['openAPIV3Schema']): typeof schema {
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  const required = (schema.required ?? []).filter((key) => key !== 'metadata');
  return { ...schema, properties, required };
}

function assertNotTerminating(name: string, context: AdmissionContext): void {
  const stored = context.list(customResourceDefinitions).find(({ metadata }) => metadata.name === name);
  if (stored === undefined || asDefinition(stored).metadata.deletionTimestamp === undefined) return;
  throw statusError(
    405,
    'MethodNotAllowed',
    'create not allowed while custom resource definition is terminating',
    { kind: groupResource(customResourceDefinitions) },
  );
}
