import { volumeSnapshotContents } from '../../../../kubernetes/resources.ts';
import { invalidValue, wrongType } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { anything, fields, flag, integer, kindSchema, text } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, at, nameColumn, valueColumn } from '../columns.ts';
import type { Draft, Kind } from '../kind.ts';
import {
  checkDeletionPolicy,
  checkRequired,
  checkSource,
  checkSourceIsKept,
  snapshotError,
} from './snapshot-fields.ts';

const sources = ['volumeHandle', 'snapshotHandle'] as const;

/** external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshotcontents.yaml */
function validate(draft: Draft): Cause[] {
  const restoreSize = at(draft, 'status', 'restoreSize');
  const creationTime = at(draft, 'status', 'creationTime');
  return [
    ...checkRequired('spec', draft['spec'], ['driver']),
    ...checkDeletionPolicy('spec.deletionPolicy', at(draft, 'spec', 'deletionPolicy')),
    ...checkSource(draft, sources),
    ...checkRequired('spec.volumeSnapshotRef', at(draft, 'spec', 'volumeSnapshotRef'), ['name', 'namespace']),
    ...(typeof restoreSize === 'number' && restoreSize < 0
      ? [invalidValue('status.restoreSize', restoreSize, 'should be greater than or equal to 0')]
      : []),
    ...(creationTime === undefined || Number.isInteger(creationTime)
      ? []
      : [wrongType('status.creationTime', creationTime, 'must be of type integer')]),
  ];
}

function validateUpdate(draft: Draft, current: StoredObject): Cause[] {
  const [mode, former] = [at(draft, 'spec', 'sourceVolumeMode'), at(current, 'spec', 'sourceVolumeMode')];
  return [
    ...checkSourceIsKept(draft, current, sources),
    ...(mode === undefined || former === undefined || mode === former
      ? []
      : [invalidValue('spec.sourceVolumeMode', mode, 'sourceVolumeMode is immutable')]),
  ];
}

export const volumeSnapshotContentKind: Kind = {
  resource: volumeSnapshotContents,
  name: 'VolumeSnapshotContent',
  singular: 'volumesnapshotcontent',
  shortNames: ['vsc', 'vscs'],
  categories: [],
  isCustomResource: true,
  schema: kindSchema({
    spec: fields({
      deletionPolicy: text,
      driver: text,
      source: fields({ snapshotHandle: text, volumeHandle: text }),
      sourceVolumeMode: text,
      volumeSnapshotClassName: text,
      volumeSnapshotRef: fields({
        ...{ apiVersion: text, fieldPath: text, kind: text, name: text, namespace: text },
        ...{ resourceVersion: text, uid: text },
      }),
    }),
    status: fields({
      // nanoseconds since the epoch: more than a safe integer
      creationTime: anything,
      error: snapshotError,
      readyToUse: flag,
      restoreSize: integer,
      snapshotHandle: text,
      volumeGroupSnapshotHandle: text,
    }),
  }),
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    valueColumn('ReadyToUse', 'boolean', 'status', 'readyToUse'),
    valueColumn('RestoreSize', 'integer', 'status', 'restoreSize'),
    valueColumn('DeletionPolicy', 'string', 'spec', 'deletionPolicy'),
    valueColumn('Driver', 'string', 'spec', 'driver'),
    valueColumn('VolumeSnapshotClass', 'string', 'spec', 'volumeSnapshotClassName'),
    valueColumn('VolumeSnapshot', 'string', 'spec', 'volumeSnapshotRef', 'name'),
    valueColumn('VolumeSnapshotNamespace', 'string', 'spec', 'volumeSnapshotRef', 'namespace'),
    ageColumn,
  ],
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate,
  validateUpdate,
};
