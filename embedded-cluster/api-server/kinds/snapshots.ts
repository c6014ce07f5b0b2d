import {
  volumeSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '../../../src/kubernetes/resources.ts';
import { invalidValue, type Cause, required, unsupportedValue, wrongType } from '../errors/field-causes.ts';
import {
  fields,
  boolean,
  integerOrText,
  kindSchema,
  string,
  time,
  mapOf,
  any,
  integer,
} from '../schema/schema.ts';
import { ageColumn, valueAt, nameColumn, valueColumn } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';
import { isRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';

const sources = ['volumeSnapshotContentName', 'persistentVolumeClaimName'] as const;
const size = /^[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)$/;

/** VolumeSnapshotError. */
const snapshotError = fields({ message: string, time });

export const volumeSnapshotKind: Kind = {
  resource: volumeSnapshots,
  name: 'VolumeSnapshot',
  singular: 'volumesnapshot',
  shortNames: ['vs'],
  categories: [],
  isCustomResource: true,
  schema: kindSchema({
    spec: fields({
      source: fields({ persistentVolumeClaimName: string, volumeSnapshotContentName: string }),
      volumeSnapshotClassName: string,
    }),
    status: fields({
      boundVolumeSnapshotContentName: string,
      creationTime: time,
      error: snapshotError,
      readyToUse: boolean,
      restoreSize: integerOrText,
      volumeGroupSnapshotName: string,
    }),
  }),
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    valueColumn('ReadyToUse', 'boolean', 'status', 'readyToUse'),
    valueColumn('SourcePVC', 'string', 'spec', 'source', 'persistentVolumeClaimName'),
    valueColumn('SourceSnapshotContent', 'string', 'spec', 'source', 'volumeSnapshotContentName'),
    valueColumn('RestoreSize', 'string', 'status', 'restoreSize'),
    valueColumn('SnapshotClass', 'string', 'spec', 'volumeSnapshotClassName'),
    valueColumn('SnapshotContent', 'string', 'status', 'boundVolumeSnapshotContentName'),
    valueColumn('CreationTime', 'date', 'status', 'creationTime'),
    ageColumn,
  ],
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate: validateSnapshot,
  validateUpdate: (draft, current) => checkSourceImmutable(draft, current, sources),
};

/** Validates as external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml. */
function validateSnapshot(draft: MutableObject): Cause[] {
  const className = valueAt(draft, 'spec', 'volumeSnapshotClassName');
  const restoreSize = valueAt(draft, 'status', 'restoreSize');
  return [
    ...checkSource(draft, sources),
    ...(className === ''
      ? [invalidValue('spec.volumeSnapshotClassName', '', 'should be at least 1 chars long')]
      : []),
    ...(typeof restoreSize === 'string' && !size.test(restoreSize)
      ? [invalidValue('status.restoreSize', restoreSize, `should match '${size.source}'`)]
      : []),
  ];
}

export const volumeSnapshotClassKind: Kind = {
  resource: volumeSnapshotClasses,
  name: 'VolumeSnapshotClass',
  singular: 'volumesnapshotclass',
  shortNames: ['vsclass', 'vsclasses'],
  categories: [],
  isCustomResource: true,
  schema: kindSchema({ deletionPolicy: string, driver: string, parameters: mapOf(string) }),
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  validate: (draft) => [
    ...checkRequired('', draft, ['driver']),
    ...checkDeletionPolicy('deletionPolicy', draft['deletionPolicy']),
  ],
};

const contentSources = ['volumeHandle', 'snapshotHandle'] as const;

export const volumeSnapshotContentKind: Kind = {
  resource: volumeSnapshotContents,
  name: 'VolumeSnapshotContent',
  singular: 'volumesnapshotcontent',
  shortNames: ['vsc', 'vscs'],
  categories: [],
  isCustomResource: true,
  schema: kindSchema({
    spec: fields({
      deletionPolicy: string,
      driver: string,
      source: fields({ snapshotHandle: string, volumeHandle: string }),
      sourceVolumeMode: string,
      volumeSnapshotClassName: string,
      volumeSnapshotRef: fields({
        ...{ apiVersion: string, fieldPath: string, kind: string, name: string, namespace: string },
        ...{ resourceVersion: string, uid: string },
      }),
    }),
    status: fields({
      // Nanoseconds since the epoch, which exceed a safe integer.
      creationTime: any,
      error: snapshotError,
      readyToUse: boolean,
      restoreSize: integer,
      snapshotHandle: string,
      volumeGroupSnapshotHandle: string,
    }),
  }),
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate: validateContent,
  validateUpdate: validateContentUpdate,
};

/**
 * Validates as external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshotcontents.yaml.
 */
function validateContent(draft: MutableObject): Cause[] {
  const restoreSize = valueAt(draft, 'status', 'restoreSize');
  const creationTime = valueAt(draft, 'status', 'creationTime');
  return [
    ...checkRequired('spec', draft['spec'], ['driver']),
    ...checkDeletionPolicy('spec.deletionPolicy', valueAt(draft, 'spec', 'deletionPolicy')),
    ...checkSource(draft, contentSources),
    ...checkRequired('spec.volumeSnapshotRef', valueAt(draft, 'spec', 'volumeSnapshotRef'), [
      'name',
      'namespace',
    ]),
    ...(typeof restoreSize === 'number' && restoreSize < 0
      ? [invalidValue('status.restoreSize', restoreSize, 'should be greater than or equal to 0')]
      : []),
    ...(creationTime === undefined || Number.isInteger(creationTime)
      ? []
      : [wrongType('status.creationTime', creationTime, 'must be of type integer')]),
  ];
}

function validateContentUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const [mode, previous] = [
    valueAt(draft, 'spec', 'sourceVolumeMode'),
    valueAt(current, 'spec', 'sourceVolumeMode'),
  ];
  return [
    ...checkSourceImmutable(draft, current, contentSources),
    ...(mode === undefined || previous === undefined || mode === previous
      ? []
      : [invalidValue('spec.sourceVolumeMode', mode, 'sourceVolumeMode is immutable')]),
  ];
}

/**
 * Returns the causes for `spec.source`, which has exactly one of two members (definitions of
 * external-snapshotter 8.6).
 */
export function checkSource(object: StoredObject, keys: readonly [string, string]): Cause[] {
  const source = valueAt(object, 'spec', 'source');
  if (!isRecord(source)) return [required('spec.source')];
  const count = keys.filter((key) => source[key] !== undefined).length;
  if (count === 1) return [];
  const message = `Invalid value: exactly one of ${keys.join(' and ')} must be set`;
  return [{ reason: 'FieldValueInvalid', message, field: 'spec.source' }];
}

/** Returns the causes for an update: each member of `spec.source` that is set must not change. */
function checkSourceImmutable(
  object: StoredObject,
  current: StoredObject,
  keys: readonly [string, string],
): Cause[] {
  return keys.flatMap((key) => {
    const [value, previous] = [
      valueAt(object, 'spec', 'source', key),
      valueAt(current, 'spec', 'source', key),
    ];
    if (previous === undefined || value === previous) return [];
    return value === undefined
      ? [invalidValue('spec.source', 'object', `${key} is required once set`)]
      : [invalidValue(`spec.source.${key}`, value, `${key} is immutable`)];
  });
}

const policies = ['Delete', 'Retain'];

/** Returns the causes for a required deletion policy. */
function checkDeletionPolicy(field: string, policy: unknown): Cause[] {
  if (policy === undefined) return [required(field)];
  return policies.some((known) => known === policy) ? [] : [unsupportedValue(field, policy, policies)];
}

/** Returns the causes for required members of an object that are missing. */
function checkRequired(path: string, value: unknown, keys: readonly string[]): Cause[] {
  return keys
    .filter((key) => !isRecord(value) || value[key] === undefined)
    .map((key) => required(path === '' ? key : `${path}.${key}`));
}
