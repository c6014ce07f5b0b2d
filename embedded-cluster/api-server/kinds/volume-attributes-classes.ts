import { volumeAttributesClasses } from '../../../src/kubernetes/resources.ts';
import { forbiddenField, required } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';
import { kindSchema, mapOf, string } from '../schema/schema.ts';
import { stringAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';

/** kubernetes: pkg/apis/storage/validation, ValidateVolumeAttributesClass. */
function validate(draft: MutableObject): Cause[] {
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
  validate,
  validateUpdate: (draft, current) =>
    ['driverName', 'parameters']
      .filter((field) => !jsonEqual(draft[field], current[field]))
      .map((field) => forbiddenField(field, `updates to ${field} are forbidden.`)),
};
