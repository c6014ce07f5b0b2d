import { volumeSnapshotClasses } from '../../../../src/kubernetes/resources.ts';
import { kindSchema, mapOf, string } from '../../schema/schema.ts';
import type { Kind } from '../kind.ts';
import { checkDeletionPolicy, checkRequired } from './snapshot-fields.ts';

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
