import { podTemplates } from '../../../../kubernetes/resources.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, at, column, nameColumn } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { checkTemplate, fillTemplateDefaults, podTemplateKindSchema, templateOf } from './pod-template.ts';
import { templateColumns } from './template-columns.ts';

const labels = (object: StoredObject): string =>
  Object.entries((at(object, 'template', 'metadata', 'labels') ?? {}) as Record<string, string>)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || '<none>';

/** v1.PodTemplate: a template that somebody keeps for later; no controller of Kubernetes reads it. */
export const podTemplateKind: Kind = {
  resource: podTemplates,
  name: 'PodTemplate',
  singular: 'podtemplate',
  shortNames: [],
  categories: [],
  schema: podTemplateKindSchema,
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    ...templateColumns((object) => templateOf(object, 'template'), { wide: false }),
    column('Pod Labels', labels),
    ageColumn,
  ],
  fillDefaults: (draft) => fillTemplateDefaults(templateOf(draft, 'template')),
  validate: (draft) => checkTemplate('template', templateOf(draft, 'template')),
};
