import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import type { Cause } from '../errors/field-causes.ts';
import { at, column, nameColumn } from '../kinds/columns.ts';
import type { AdmissionContext, Draft, Kind } from '../kinds/kind.ts';
import { checkImmutable } from '../kinds/object-meta.ts';
import { isRecord } from '../schema/json.ts';
import { anything, fields, flag, integer, kindSchema, listOf, text, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { asDefinition } from './definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { namingConditions, terminating } from './definition-conditions.ts';
import { checkDefinition } from './definition-validation.ts';

/** On every definition: its instances go before it. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const names = fields({
  plural: text,
  singular: text,
  kind: text,
  listKind: text,
  shortNames: listOf(text),
  categories: listOf(text),
});

const schema = kindSchema({
  spec: fields({
    group: text,
    scope: text,
    names,
    versions: listOf(
      fields({
        name: text,
        served: flag,
        storage: flag,
        deprecated: flag,
        deprecationWarning: text,
        schema: fields({ openAPIV3Schema: anything }),
        subresources: fields({ status: fields({}) }),
        additionalPrinterColumns: listOf(
          fields({
            name: text,
            type: text,
            format: text,
            description: text,
            priority: integer,
            jsonPath: text,
          }),
        ),
      }),
    ),
    conversion: fields({ strategy: text }),
  }),
  status: fields({
    acceptedNames: names,
    storedVersions: listOf(text),
    conditions: listOf(
      fields({ type: text, status: text, reason: text, message: text, lastTransitionTime: time }),
      { key: 'type' },
    ),
  }),
});

/**
 * CustomResourceDefinitions, apiextensions.k8s.io/v1. What a real cluster's controllers do a moment later (accept the
 * names, establish) is done in the write. `reserved`: the groups of the built-in kinds.
 */
export function customResourceDefinitionKind(reserved: readonly string[]): Kind {
  return {
    resource: customResourceDefinitions,
    name: 'CustomResourceDefinition',
    singular: 'customresourcedefinition',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    schema,
    hasStatus: true,
    countsGenerations: true,
    nameRule: 'subdomain',
    columns: [
      nameColumn,
      column('Created At', ({ metadata }) => metadata.creationTimestamp ?? '', { type: 'date' }),
    ],
    fillDefaults,
    prepareCreate: (draft, context) => {
      draft['status'] = statusOf(draft, context);
    },
    prepareUpdate: (draft, current, context) => {
      if (current.metadata.deletionTimestamp === undefined) draft['status'] = statusOf(draft, context);
    },
    validate: (draft) => checkDefinition(draft, reserved),
    validateUpdate: checkUpdate,
    deletionFinalizer: cleanupFinalizer,
    prepareDelete: (draft) => {
      const { status } = asDefinition(draft);
      const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Terminating');
      const condition = terminating(draft.metadata.deletionTimestamp ?? '');
      draft['status'] = { ...status, conditions: [...others, condition] };
    },
  };
}

function fillDefaults(draft: Draft): void {
  const { spec } = draft;
  if (!isRecord(spec)) return;
  spec['conversion'] ??= { strategy: 'None' };
  const given = spec['names'];
  if (!isRecord(given)) return;
  const kind = typeof given['kind'] === 'string' ? given['kind'] : '';
  given['singular'] ??= kind.toLowerCase();
  given['listKind'] ??= `${kind}List`;
}

/** Of a draft that validation has not seen yet, so nothing may be taken for granted. */
function statusOf(draft: Draft, context: AdmissionContext): CustomResourceDefinition['status'] {
  if (!isRecord(draft['spec']) || !isRecord(draft['spec']['names'])) return undefined;
  const definition = asDefinition(draft);
  const before = definition.status?.conditions ?? [];
  const conditions = namingConditions(definition, context.list(customResourceDefinitions), context.now);
  const kept = conditions.map(
    (now) => before.find(({ type, status }) => type === now.type && status === now.status) ?? now,
  );
  const accepted = conditions.every(({ status }) => status === 'True');
  const stored = (definition.spec.versions ?? []).filter(({ storage }) => storage).map(({ name }) => name);
  return {
    conditions: kept,
    acceptedNames: accepted ? definition.spec.names : { plural: '', kind: '' },
    storedVersions: [...new Set([...(definition.status?.storedVersions ?? []), ...stored])],
  };
}

function checkUpdate(draft: Draft, current: StoredObject): Cause[] {
  const paths = [
    ['spec', 'group'],
    ['spec', 'scope'],
    ['spec', 'names', 'plural'],
    ['spec', 'names', 'kind'],
  ];
  return paths.flatMap((path) => checkImmutable(path.join('.'), at(draft, ...path), at(current, ...path)));
}
