import { matchesLabelSelector } from '../../../../kubernetes/label-selector.ts';
import { replicaSets } from '../../../../kubernetes/resources.ts';
import type { ReplicaSet } from '../../../../kubernetes/workload.ts';
import { fields, integer, kindSchema } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import type { Draft, Kind } from '../kind.ts';
import { labelSelector } from '../node-selector-schema.ts';
import { checkImmutable } from '../object-meta.ts';
import { checkKeptTemplate, fillTemplateDefaults, podTemplate } from './pod-template.ts';
import { checkCounts, checkSelector, count, replicaStatus, selectorText } from './replica-fields.ts';
import { templateColumns } from './template-columns.ts';

const specOf = (object: Draft | StoredObject): ReplicaSet['spec'] | undefined =>
  (object as unknown as Partial<ReplicaSet>).spec;

/** apps/v1, pkg/apis/apps/validation ValidateReplicaSet; kept by controllers/workloads/replicas.ts. */
export const replicaSetKind: Kind = {
  resource: replicaSets,
  name: 'ReplicaSet',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  schema: kindSchema({
    spec: fields({
      ...{ replicas: integer, minReadySeconds: integer },
      ...{ selector: labelSelector, template: podTemplate },
    }),
    status: replicaStatus,
  }),
  hasStatus: true,
  scale: (object) => selectorText(specOf(object)?.selector),
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Desired', (object) => count(object, 'spec', 'replicas'), { type: 'integer' }),
    column('Current', (object) => count(object, 'status', 'replicas'), { type: 'integer' }),
    column('Ready', (object) => count(object, 'status', 'readyReplicas'), { type: 'integer' }),
    ageColumn,
    ...templateColumns((object) => specOf(object)?.template, { wide: true }),
    column('Selector', (object) => selectorText(specOf(object)?.selector), { wide: true }),
  ],
  fillDefaults: (draft) => {
    const spec = specOf(draft);
    if (spec === undefined) return;
    spec.replicas ??= 1;
    fillTemplateDefaults(spec.template);
  },
  prepareCreate: (draft) => {
    draft['status'] = { replicas: 0 };
  },
  validate: (draft) => [
    ...checkCounts(specOf(draft), ['replicas', 'minReadySeconds']),
    ...checkSelector('spec.selector', specOf(draft)?.selector),
    ...checkKeptTemplate('spec.template', specOf(draft)?.template, (labels) =>
      matchesLabelSelector(specOf(draft)?.selector ?? {}, labels),
    ),
  ],
  validateUpdate: (draft, current) =>
    checkImmutable('spec.selector', specOf(draft)?.selector, specOf(current)?.selector),
  selectableFields: (object) => ({ 'status.replicas': String(count(object, 'status', 'replicas')) }),
};
