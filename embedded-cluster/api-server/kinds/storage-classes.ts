import { storageClasses } from '../../../src/kubernetes/resources.ts';
import { invalidValue, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { boolean, kindSchema, string } from '../schema/schema.ts';
import { ageColumn, column, nameColumn, stringAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';

export const defaultClassAnnotation = 'storageclass.kubernetes.io/is-default-class';

function validate(draft: MutableObject): Cause[] {
  const reclaim = stringAt(draft, ['reclaimPolicy']);
  const binding = stringAt(draft, ['volumeBindingMode']);
  return [
    ...(stringAt(draft, ['provisioner']) === '' ? [required('provisioner')] : []),
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
    provisioner: string,
    reclaimPolicy: string,
    volumeBindingMode: string,
    allowVolumeExpansion: boolean,
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
    column('Provisioner', (object) => stringAt(object, ['provisioner'])),
    column('ReclaimPolicy', (object) => stringAt(object, ['reclaimPolicy'])),
    column('VolumeBindingMode', (object) => stringAt(object, ['volumeBindingMode'])),
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
