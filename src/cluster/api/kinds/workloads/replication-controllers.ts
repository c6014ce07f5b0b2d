import { replicationControllers } from '../../../../kubernetes/resources.ts';
import type { ReplicationController } from '../../../../kubernetes/workload.ts';
import { required } from '../../errors/field-causes.ts';
import { fields, integer, kindSchema, mapOf, text } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import type { Draft, Kind } from '../kind.ts';
import { checkKeptTemplate, fillTemplateDefaults, podTemplate } from './pod-template.ts';
import { checkCounts, count, replicaStatus, selectorText } from './replica-fields.ts';
import { templateColumns } from './template-columns.ts';

const specOf = (object: Draft | StoredObject): ReplicationController['spec'] | undefined =>
  (object as unknown as Partial<ReplicationController>).spec;

function selects(
  spec: ReplicationController['spec'] | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(spec?.selector ?? {}).every(([key, value]) => labels[key] === value);
}

/** v1, pkg/apis/core/validation ValidateReplicationController; kept by controllers/workloads/replicas.ts. */
export const replicationControllerKind: Kind = {
  resource: replicationControllers,
  name: 'ReplicationController',
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  schema: kindSchema({
    spec: fields({
      ...{ replicas: integer, minReadySeconds: integer },
      ...{ selector: mapOf(text), template: podTemplate },
    }),
    status: replicaStatus,
  }),
  hasStatus: true,
  scale: (object) => selectorText({ matchLabels: specOf(object)?.selector ?? {} }),
  // for compatibility with the times before the garbage collector (pkg/registry/core/replicationcontroller/strategy.go)
  orphansByDefault: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Desired', (object) => count(object, 'spec', 'replicas'), { type: 'integer' }),
    column('Current', (object) => count(object, 'status', 'replicas'), { type: 'integer' }),
    column('Ready', (object) => count(object, 'status', 'readyReplicas'), { type: 'integer' }),
    ageColumn,
    ...templateColumns((object) => specOf(object)?.template, { wide: true }),
    column('Selector', (object) => selectorText({ matchLabels: specOf(object)?.selector ?? {} }), {
      wide: true,
    }),
  ],
  fillDefaults: (draft) => {
    const spec = specOf(draft);
    if (spec === undefined) return;
    spec.replicas ??= 1;
    const labels = spec.template?.metadata?.labels;
    if (labels !== undefined) {
      spec.selector ??= { ...labels };
      draft.metadata.labels ??= { ...labels };
    }
    fillTemplateDefaults(spec.template);
  },
  prepareCreate: (draft) => {
    draft['status'] = { replicas: 0 };
  },
  validate: (draft) => [
    ...checkCounts(specOf(draft), ['replicas', 'minReadySeconds']),
    ...(Object.keys(specOf(draft)?.selector ?? {}).length === 0 ? [required('spec.selector')] : []),
    ...checkKeptTemplate('spec.template', specOf(draft)?.template, (labels) =>
      selects(specOf(draft), labels),
    ),
  ],
  selectableFields: (object) => ({ 'status.replicas': String(count(object, 'status', 'replicas')) }),
};
