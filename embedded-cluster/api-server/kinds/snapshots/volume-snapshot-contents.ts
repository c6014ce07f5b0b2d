import { volumeSnapshotContents } from '../../../../src/kubernetes/resources.ts';
import { invalidValue, wrongType } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { any, fields, boolean, integer, kindSchema, string } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { valueAt } from '../columns.ts';
import type { MutableObject, Kind } from '../kind.ts';
import {
  checkDeletionPolicy,
  checkRequired,
  checkSource,
  checkSourceImmutable,
  snapshotError,
} from './snapshot-fields.ts';

const sources = ['volumeHandle', 'snapshotHandle'] as const;

/**
 * Validates as external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshotcontents.yaml.
 */
function validate(draft: MutableObject): Cause[] {
  const restoreSize = valueAt(draft, 'status', 'restoreSize');
  const creationTime = valueAt(draft, 'status', 'creationTime');
  return [
    ...checkRequired('spec', draft['spec'], ['driver']),
    ...checkDeletionPolicy('spec.deletionPolicy', valueAt(draft, 'spec', 'deletionPolicy')),
    ...checkSource(draft, sources),
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

function validateUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const [mode, former] = [
    valueAt(draft, 'spec', 'sourceVolumeMode'),
    valueAt(current, 'spec', 'sourceVolumeMode'),
  ];
  return [
    ...checkSourceImmutable(draft, current, sources),
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
  validate,
  validateUpdate,
};
