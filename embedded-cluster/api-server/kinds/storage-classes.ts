import { storageClasses, volumeAttributesClasses } from '../../../src/kubernetes/resources.ts';
import {
  invalidValue,
  required,
  unsupportedValue,
  type Cause,
  forbiddenField,
} from '../errors/field-causes.ts';
import { boolean, kindSchema, string, mapOf } from '../schema/schema.ts';
import { ageColumn, column, nameColumn, stringAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';

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

/** kubernetes: pkg/apis/storage/validation, ValidateVolumeAttributesClass. */
function validateAttributesClass(draft: MutableObject): Cause[] {
  const parameters = draft['parameters'];
  const isEmpty = !isRecord(parameters) || Object.keys(parameters).length === 0;
  return [
    ...(stringAt(draft, ['driverName']) === '' ? [required('driverName')] : []),
    ...(isEmpty ? [required('parameters', 'must contain at least one key/value pair')] : []),
  ];
}

export const volumeAttributesClassKind: Kind = {
  resource: volumeAttributesClasses,
  name: 'VolumeAttributesClass',
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  categories: [],
  schema: kindSchema({ driverName: string, parameters: mapOf(string) }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  validate: validateAttributesClass,
  validateUpdate: (draft, current) =>
    ['driverName', 'parameters']
      .filter((field) => !jsonEqual(draft[field], current[field]))
      .map((field) => forbiddenField(field, `updates to ${field} are forbidden.`)),
};
