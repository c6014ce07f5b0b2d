import { volumeSnapshots } from '../../../../kubernetes/resources.ts';
import { invalidValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, flag, integerOrText, kindSchema, text, time } from '../../schema/schema.ts';
import { ageColumn, at, nameColumn, valueColumn } from '../columns.ts';
import type { Draft, Kind } from '../kind.ts';
import { checkSource, checkSourceIsKept, snapshotError } from './snapshot-fields.ts';

const sources = ['volumeSnapshotContentName', 'persistentVolumeClaimName'] as const;
const size = /^[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)$/;

/** external-snapshotter client/config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml */
function validate(draft: Draft): Cause[] {
  const className = at(draft, 'spec', 'volumeSnapshotClassName');
  const restoreSize = at(draft, 'status', 'restoreSize');
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
      source: fields({ persistentVolumeClaimName: text, volumeSnapshotContentName: text }),
      volumeSnapshotClassName: text,
    }),
    status: fields({
      boundVolumeSnapshotContentName: text,
      creationTime: time,
      error: snapshotError,
      readyToUse: flag,
      restoreSize: integerOrText,
      volumeGroupSnapshotName: text,
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
  validateUpdate: (draft, current) => checkSourceIsKept(draft, current, sources),
};
