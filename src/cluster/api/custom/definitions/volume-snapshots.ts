import {
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../../kubernetes/resources.ts';
import type { StructuralSchema } from '../structural-schema.ts';
import { describeKind, fixed, keeps, object, printed, string } from './describe.ts';

const { group } = volumeSnapshots;
const annotations = {
  'api-approved.kubernetes.io': 'https://github.com/kubernetes-csi/external-snapshotter/pull/814',
};
const time = string({ format: 'date-time' });
const flag: StructuralSchema = { type: 'boolean' };
const int64: StructuralSchema = { type: 'integer', format: 'int64' };
const failure = object({ message: string(), time });
const deletionPolicy = string({ enum: ['Delete', 'Retain'] });
const age = printed('Age', 'date', '.metadata.creationTimestamp');

const snapshot = describeKind({
  group,
  plural: volumeSnapshots.plural,
  kind: 'VolumeSnapshot',
  shortNames: ['vs'],
  scope: 'Namespaced',
  annotations,
  version: {
    subresources: { status: {} },
    additionalPrinterColumns: [
      printed('ReadyToUse', 'boolean', '.status.readyToUse'),
      printed('SourcePVC', 'string', '.spec.source.persistentVolumeClaimName'),
      printed('SourceSnapshotContent', 'string', '.spec.source.volumeSnapshotContentName'),
      printed('RestoreSize', 'string', '.status.restoreSize'),
      printed('SnapshotClass', 'string', '.spec.volumeSnapshotClassName'),
      printed('SnapshotContent', 'string', '.status.boundVolumeSnapshotContentName'),
      printed('CreationTime', 'date', '.status.creationTime'),
      age,
    ],
    schema: {
      openAPIV3Schema: object(
        {
          spec: object(
            {
              source: object(
                {
                  persistentVolumeClaimName: fixed('persistentVolumeClaimName'),
                  volumeSnapshotContentName: fixed('volumeSnapshotContentName'),
                },
                {
                  oneOf: [
                    { required: ['persistentVolumeClaimName'] },
                    { required: ['volumeSnapshotContentName'] },
                  ],
                  'x-kubernetes-validations': keeps('persistentVolumeClaimName', 'volumeSnapshotContentName'),
                },
              ),
              volumeSnapshotClassName: string({ minLength: 1 }),
            },
            { required: ['source'] },
          ),
          status: object({
            boundVolumeSnapshotContentName: string(),
            creationTime: time,
            error: failure,
            readyToUse: flag,
            restoreSize: {
              'x-kubernetes-int-or-string': true,
              pattern: '^[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)$',
            },
            volumeGroupSnapshotName: string(),
          }),
        },
        { required: ['spec'] },
      ),
    },
  },
});

const content = describeKind({
  group,
  plural: volumeSnapshotContents.plural,
  kind: 'VolumeSnapshotContent',
  shortNames: ['vsc', 'vscs'],
  scope: 'Cluster',
  annotations,
  version: {
    subresources: { status: {} },
    additionalPrinterColumns: [
      printed('ReadyToUse', 'boolean', '.status.readyToUse'),
      printed('RestoreSize', 'integer', '.status.restoreSize'),
      printed('DeletionPolicy', 'string', '.spec.deletionPolicy'),
      printed('Driver', 'string', '.spec.driver'),
      printed('VolumeSnapshotClass', 'string', '.spec.volumeSnapshotClassName'),
      printed('VolumeSnapshot', 'string', '.spec.volumeSnapshotRef.name'),
      printed('VolumeSnapshotNamespace', 'string', '.spec.volumeSnapshotRef.namespace'),
      age,
    ],
    schema: {
      openAPIV3Schema: object(
        {
          spec: object(
            {
              deletionPolicy,
              driver: string(),
              source: object(
                { snapshotHandle: fixed('snapshotHandle'), volumeHandle: fixed('volumeHandle') },
                {
                  'x-kubernetes-validations': keeps('snapshotHandle', 'volumeHandle'),
                  oneOf: [{ required: ['snapshotHandle'] }, { required: ['volumeHandle'] }],
                },
              ),
              sourceVolumeMode: fixed('sourceVolumeMode'),
              volumeSnapshotClassName: string(),
              volumeSnapshotRef: object(
                {
                  apiVersion: string(),
                  fieldPath: string(),
                  kind: string(),
                  name: string(),
                  namespace: string(),
                  resourceVersion: string(),
                  uid: string(),
                },
                { required: ['name', 'namespace'] },
              ),
            },
            { required: ['deletionPolicy', 'driver', 'source', 'volumeSnapshotRef'] },
          ),
          status: object({
            creationTime: int64,
            error: failure,
            readyToUse: flag,
            restoreSize: { ...int64, minimum: 0 },
            snapshotHandle: string(),
            volumeGroupSnapshotHandle: string(),
          }),
        },
        { required: ['spec'] },
      ),
    },
  },
});

const snapshotClass = describeKind({
  group,
  plural: volumeSnapshotClasses.plural,
  kind: 'VolumeSnapshotClass',
  shortNames: ['vsclass', 'vsclasses'],
  scope: 'Cluster',
  annotations,
  version: {
    additionalPrinterColumns: [
      printed('Driver', 'string', '.driver'),
      printed('DeletionPolicy', 'string', '.deletionPolicy'),
      age,
    ],
    schema: {
      openAPIV3Schema: object(
        {
          deletionPolicy,
          driver: string(),
          parameters: { type: 'object', additionalProperties: string() },
        },
        { required: ['deletionPolicy', 'driver'] },
      ),
    },
  },
});

/**
 * snapshot.storage.k8s.io/v1, the fields of external-snapshotter's definitions: bootstrap installs them, because
 * this cluster takes snapshots.
 */
export const volumeSnapshotDefinitions = [snapshot, content, snapshotClass] as const;
