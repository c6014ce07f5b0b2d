import { invalidValue, unsupported, required } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { fields, string } from '../schema/schema.ts';

/** v1.TypedLocalObjectReference. */
export const dataSource = fields({ apiGroup: string, kind: string, name: string });

const snapshotGroup = 'snapshot.storage.k8s.io';

/**
 * Sets the missing one of dataSource and dataSourceRef (registry/core/persistentvolumeclaim,
 * NormalizeDataSources). Drops a dataSource without dataSourceRef if its kind was never valid for dataSource
 * (EnforceDataSourceBackwardsCompatibility).
 */
export function normalizeDataSource(given: JsonRecord): JsonRecord {
  const spec = dropUnsupportedDataSource(given);
  const source = spec['dataSource'] ?? spec['dataSourceRef'];
  if (source === undefined) return spec;
  return {
    ...spec,
    dataSource: spec['dataSource'] ?? source,
    dataSourceRef: spec['dataSourceRef'] ?? source,
  };
}

function dropUnsupportedDataSource(spec: JsonRecord): JsonRecord {
  const { dataSource: source, ...rest } = spec;
  if (!isRecord(source) || spec['dataSourceRef'] !== undefined) return spec;
  const { apiGroup = '', kind } = source;
  const isNamed =
    (apiGroup === '' && kind === 'PersistentVolumeClaim') ||
    (apiGroup === snapshotGroup && kind === 'VolumeSnapshot');
  return isNamed ? spec : rest;
}

/** Returns the causes for the data source of a claim's spec (core/validation, validateDataSource). */
export function checkDataSource(field: string, spec: JsonRecord): Cause[] {
  const { dataSource: source, dataSourceRef: reference } = spec;
  return [
    ...checkSource(`${field}.dataSource`, source),
    ...(source === undefined || reference === undefined || jsonEqual(source, reference)
      ? checkSource(`${field}.dataSourceRef`, jsonEqual(source, reference) ? undefined : reference)
      : [invalidValue(field, source, 'must match dataSourceRef')]),
  ];
}

function checkSource(field: string, source: unknown): Cause[] {
  if (!isRecord(source)) return [];
  const { apiGroup = '', kind = '', name = '' } = source;
  if (kind === '') return [required(`${field}.kind`)];
  if (name === '') return [required(`${field}.name`)];
  if (apiGroup === '') {
    return kind === 'PersistentVolumeClaim'
      ? []
      : [invalidValue(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")];
  }
  if (apiGroup === snapshotGroup && kind === 'VolumeSnapshot') return [];
  return [unsupported(field, `volumes made from ${String(kind)} of ${String(apiGroup)}`)];
}
