import { volumeSnapshots } from '../../../../src/kubernetes/resources.ts';
import { invalidValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, boolean, integerOrText, kindSchema, string, time } from '../../schema/schema.ts';
import { ageColumn, valueAt, nameColumn, valueColumn } from '../columns.ts';
import type { MutableObject, Kind } from '../kind.ts';
import { checkSource, checkSourceImmutable, snapshotError } from './snapshot-fields.ts';

const sources = ['volumeSnapshotContentName', 'persistentVolumeClaimName'] as const;
const size = /^[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)$/;

/** Validates as external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml. */
function validate(draft: MutableObject): Cause[] {
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
  validate,
  validateUpdate: (draft, current) => checkSourceImmutable(draft, current, sources),
};
