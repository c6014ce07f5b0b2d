import { persistentVolumeClaims, storageClasses } from '../../../kubernetes/resources.ts';
import { notDoneHere } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import { fields, kindSchema, listOf, mapOf, quantity, text, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { checkAccessModes, shortAccessModes } from './access-modes.ts';
import { checkDataSource, dataSource, normalizeDataSource } from './claim-data-source.ts';
import { admitClaimUpdate, checkClaimUpdate } from './claim-update.ts';
import { ageColumn, at, column, nameColumn, textAt } from './columns.ts';
import type { AdmissionContext, Draft, Kind } from './kind.ts';
import { checkQuantity } from './resources.ts';
import { defaultClassAnnotation } from './storage-classes.ts';

const pvcProtection = 'kubernetes.io/pvc-protection';

/** v1.PersistentVolumeClaimSpec, also the template of a generic ephemeral volume. */
export const claimSpec = fields({
  accessModes: listOf(text),
  resources: fields({ requests: mapOf(quantity) }),
  storageClassName: text,
  volumeName: text,
  volumeMode: text,
  volumeAttributesClassName: text,
  dataSource,
  dataSourceRef: dataSource,
});

const condition = fields({
  type: text,
  status: text,
  reason: text,
  message: text,
  lastProbeTime: time,
  lastTransitionTime: time,
});

/** Causes for the spec of a claim at `field`. */
export function checkClaimSpec(field: string, spec: unknown): Cause[] {
  const claim = isRecord(spec) ? spec : {};
  const resources = isRecord(claim['resources']) ? claim['resources'] : {};
  const requests = isRecord(resources['requests']) ? resources['requests'] : {};
  return [
    ...checkAccessModes(`${field}.accessModes`, claim['accessModes']),
    ...checkQuantity(`${field}.resources[storage]`, requests['storage']),
    ...checkDataSource(field, claim),
    ...((claim['volumeMode'] ?? 'Filesystem') === 'Filesystem'
      ? []
      : [notDoneHere(`${field}.volumeMode`, 'volumes other than Filesystem')]),
  ];
}

/** Admission: the default class where none is named (the newest of several), and the protection finalizer. */
function admit(draft: Draft, context: AdmissionContext): void {
  const spec = isRecord(draft['spec']) ? draft['spec'] : {};
  const defaults = context
    .list(storageClasses)
    .filter(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true')
    .toSorted((left, right) => created(right).localeCompare(created(left)));
  const [newest] = defaults;
  if (spec['storageClassName'] === undefined && newest !== undefined) {
    draft['spec'] = { ...spec, storageClassName: newest.metadata.name };
  }
  draft.metadata.finalizers = [...new Set([...(draft.metadata.finalizers ?? []), pvcProtection])];
  draft['status'] = { phase: 'Pending' };
}

const created = ({ metadata }: StoredObject): string => metadata.creationTimestamp ?? '';

function phase(object: StoredObject): string {
  return object.metadata.deletionTimestamp === undefined
    ? textAt(object, ['status', 'phase'])
    : 'Terminating';
}

const bound = (object: StoredObject): boolean => textAt(object, ['spec', 'volumeName']) !== '';

export const persistentVolumeClaimKind: Kind = {
  resource: persistentVolumeClaims,
  name: 'PersistentVolumeClaim',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  categories: [],
  schema: kindSchema({
    spec: claimSpec,
    status: fields({
      phase: text,
      accessModes: listOf(text),
      capacity: mapOf(quantity),
      conditions: listOf(condition, { key: 'type' }),
      allocatedResources: mapOf(quantity),
      allocatedResourceStatuses: mapOf(text),
      currentVolumeAttributesClassName: text,
      modifyVolumeStatus: fields({ targetVolumeAttributesClassName: text, status: text }),
    }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Status', phase),
    column('Volume', (object) => textAt(object, ['spec', 'volumeName'])),
    column('Capacity', (object) => (bound(object) ? textAt(object, ['status', 'capacity', 'storage']) : '')),
    column('Access Modes', (object) =>
      bound(object) ? shortAccessModes(at(object, 'status', 'accessModes')) : '',
    ),
    column('StorageClass', (object) => textAt(object, ['spec', 'storageClassName'])),
    column('VolumeAttributesClass', (object) =>
      textAt(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
    ),
    ageColumn,
    column('VolumeMode', (object) => textAt(object, ['spec', 'volumeMode'], '<unset>'), { wide: true }),
  ],
  fillDefaults: (draft) => {
    const spec = isRecord(draft['spec']) ? draft['spec'] : {};
    draft['spec'] = normalizeDataSource({ volumeMode: 'Filesystem', ...spec });
  },
  prepareCreate: admit,
  validate: (draft) => checkClaimSpec('spec', draft['spec']),
  validateUpdate: checkClaimUpdate,
  admitUpdate: admitClaimUpdate,
};
