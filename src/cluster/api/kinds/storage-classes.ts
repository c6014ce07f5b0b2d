import { storageClasses } from '../../../kubernetes/resources.ts';
import { invalidValue, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { flag, kindSchema, text } from '../schema/schema.ts';
import { ageColumn, column, nameColumn, textAt } from './columns.ts';
import type { Draft, Kind } from './kind.ts';

export const defaultClassAnnotation = 'storageclass.kubernetes.io/is-default-class';

function validate(draft: Draft): Cause[] {
  const reclaim = textAt(draft, ['reclaimPolicy']);
  const binding = textAt(draft, ['volumeBindingMode']);
  return [
    ...(textAt(draft, ['provisioner']) === '' ? [required('provisioner')] : []),
    ...(['Delete', 'Retain'].includes(reclaim)
      ? []
      : [unsupportedValue('reclaimPolicy', reclaim, ['Delete', 'Retain'])]),
    ...(['Immediate', 'WaitForFirstConsumer'].includes(binding)
      ? []
      : [unsupportedValue('volumeBindingMode', binding, ['Immediate', 'WaitForFirstConsumer'])]),
  ];
}

const immutable = ['provisioner', 'reclaimPolicy', 'volumeBindingMode'];

export const storageClassKind: Kind = {
  resource: storageClasses,
  name: 'StorageClass',
  singular: 'storageclass',
  shortNames: ['sc'],
  categories: [],
  schema: kindSchema({
    provisioner: text,
    reclaimPolicy: text,
    volumeBindingMode: text,
    allowVolumeExpansion: flag,
  }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) =>
        metadata.annotations?.[defaultClassAnnotation] === 'true'
          ? `${metadata.name} (default)`
          : metadata.name,
    },
    column('Provisioner', (object) => textAt(object, ['provisioner'])),
    column('ReclaimPolicy', (object) => textAt(object, ['reclaimPolicy'])),
    column('VolumeBindingMode', (object) => textAt(object, ['volumeBindingMode'])),
    column('AllowVolumeExpansion', (object) => String(object['allowVolumeExpansion'] === true)),
    ageColumn,
  ],
  fillDefaults: (draft) => {
    draft['reclaimPolicy'] ??= 'Delete';
    draft['volumeBindingMode'] ??= 'Immediate';
  },
  validate,
  validateUpdate: (draft, current) =>
    immutable
      .filter((field) => draft[field] !== current[field])
      .map((field) => invalidValue(field, draft[field] ?? null, 'field is immutable')),
};
