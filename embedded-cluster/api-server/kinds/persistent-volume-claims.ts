import { persistentVolumeClaims, storageClasses } from '../../../src/kubernetes/resources.ts';
import { unsupported } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import { fields, kindSchema, array, mapOf, quantity, string, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { checkAccessModes, shortAccessModes } from './access-modes.ts';
import { checkDataSource, dataSource, normalizeDataSource } from './claim-data-source.ts';
import { admitClaimUpdate, checkClaimUpdate } from './claim-update.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import type { AdmissionContext, MutableObject, Kind } from './kind.ts';
import { checkQuantity } from './resources.ts';
import { defaultClassAnnotation } from './storage-classes.ts';

const pvcProtection = 'kubernetes.io/pvc-protection';

/** v1.PersistentVolumeClaimSpec, which is also the template of a generic ephemeral volume. */
export const claimSpec = fields({
  accessModes: array(string),
  resources: fields({ requests: mapOf(quantity) }),
  storageClassName: string,
  volumeName: string,
  volumeMode: string,
  volumeAttributesClassName: string,
  dataSource,
  dataSourceRef: dataSource,
});

const condition = fields({
  type: string,
  status: string,
  reason: string,
  message: string,
  lastProbeTime: time,
  lastTransitionTime: time,
});

/** Returns the causes for the spec of a claim at `field`. */
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
      : [unsupported(`${field}.volumeMode`, 'volumes other than Filesystem')]),
  ];
}

/**
 * Admission: sets the default class if the claim names none (the newest of several), and the protection
 * finalizer.
 */
function admit(draft: MutableObject, context: AdmissionContext): void {
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
    ? stringAt(object, ['status', 'phase'])
    : 'Terminating';
}

const bound = (object: StoredObject): boolean => stringAt(object, ['spec', 'volumeName']) !== '';

export const persistentVolumeClaimKind: Kind = {
  resource: persistentVolumeClaims,
  name: 'PersistentVolumeClaim',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  categories: [],
  schema: kindSchema({
    spec: claimSpec,
    status: fields({
      phase: string,
      accessModes: array(string),
      capacity: mapOf(quantity),
      conditions: array(condition, { key: 'type' }),
      allocatedResources: mapOf(quantity),
      allocatedResourceStatuses: mapOf(string),
      currentVolumeAttributesClassName: string,
      modifyVolumeStatus: fields({ targetVolumeAttributesClassName: string, status: string }),
    }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Status', phase),
    column('Volume', (object) => stringAt(object, ['spec', 'volumeName'])),
    column('Capacity', (object) =>
      bound(object) ? stringAt(object, ['status', 'capacity', 'storage']) : '',
    ),
    column('Access Modes', (object) =>
      bound(object) ? shortAccessModes(valueAt(object, 'status', 'accessModes')) : '',
    ),
    column('StorageClass', (object) => stringAt(object, ['spec', 'storageClassName'])),
    column('VolumeAttributesClass', (object) =>
      stringAt(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
    ),
    ageColumn,
    column('VolumeMode', (object) => stringAt(object, ['spec', 'volumeMode'], '<unset>'), { wide: true }),
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
