import { persistentVolumeClaims, storageClasses } from '../../../src/kubernetes/resources.ts';
import { unsupported, type Cause, forbiddenField, invalidValue, required } from '../errors/field-causes.ts';
import { isRecord, copyJson, jsonEqual, type JsonRecord } from '../schema/json.ts';
import { fields, kindSchema, array, mapOf, quantity, string, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { checkAccessModes, shortAccessModes } from './persistent-volumes.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import type { AdmissionContext, MutableObject, Kind } from './kind.ts';
import { checkQuantity, parseQuantity } from './quantities.ts';
import { defaultClassAnnotation } from './storage-classes.ts';
import { forbidden } from '../errors/status-errors.ts';

const pvcProtection = 'kubernetes.io/pvc-protection';

/** v1.TypedLocalObjectReference. */
export const dataSource = fields({ apiGroup: string, kind: string, name: string });

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

function phase(object: StoredObject): string {
  return object.metadata.deletionTimestamp === undefined
    ? stringAt(object, ['status', 'phase'])
    : 'Terminating';
}

const bound = (object: StoredObject): boolean => stringAt(object, ['spec', 'volumeName']) !== '';

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

const requestPath = ['spec', 'resources', 'requests', 'storage'];

/**
 * Returns the causes for changes of a claim that are not allowed (core/validation,
 * ValidatePersistentVolumeClaimUpdate).
 */
function checkClaimUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const before = copyJson(specOf(current));
  const after = copyJson(specOf(draft));
  // The binder sets the volume name once; a class may be set if the claim had none.
  if (before['volumeName'] === undefined) delete after['volumeName'];
  if (before['storageClassName'] === undefined) delete after['storageClassName'];
  if (isBound(current)) {
    for (const field of ['volumeAttributesClassName', 'resources']) {
      delete before[field];
      delete after[field];
    }
  }
  if (!jsonEqual(before, after)) {
    return [
      forbiddenField(
        'spec',
        'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
      ),
    ];
  }
  return [...checkShrink(draft, current), ...checkAttributesClass(draft, current)];
}

/**
 * A request may shrink, but must stay above the capacity of the volume, so that an expansion that the driver
 * cannot do can be reverted (KEP-1790).
 */
function checkShrink(draft: MutableObject, current: StoredObject): Cause[] {
  const next = storageAt(draft, requestPath);
  const capacity = storageAt(current, ['status', 'capacity', 'storage']);
  return next < storageAt(current, requestPath) && next <= capacity
    ? [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : [];
}

/**
 * A class that never took effect may be removed; any other class may only be replaced (since Kubernetes
 * 1.34).
 */
function checkAttributesClass(draft: MutableObject, current: StoredObject): Cause[] {
  const field = 'spec.volumeAttributesClassName';
  const [before, after] = [current, draft].map((object) => stringAt(object, field.split('.')));
  if (before === '' || after !== '') return [];
  return stringAt(current, ['status', 'currentVolumeAttributesClassName']) === ''
    ? []
    : [
        forbiddenField(
          field,
          'update to nil is forbidden when status.currentVolumeAttributesClassName is not nil',
        ),
      ];
}

/**
 * Applies the admission plugin PersistentVolumeClaimResize: a bound claim may grow if its class allows
 * expansion. Throws ApiError 403.
 */
function admitClaimUpdate(draft: MutableObject, current: StoredObject, context: AdmissionContext): void {
  if (storageAt(draft, requestPath) <= storageAt(current, requestPath)) return;
  const name = stringAt(draft, ['spec', 'storageClassName']);
  const storageClass = context.list(storageClasses).find(({ metadata }) => metadata.name === name);
  if (storageClass?.['allowVolumeExpansion'] === true) return;
  throw forbidden(
    persistentVolumeClaims,
    current.metadata.name,
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  );
}

function isBound(claim: StoredObject): boolean {
  return stringAt(claim, ['status', 'phase']) === 'Bound';
}

function specOf(claim: StoredObject | MutableObject): JsonRecord {
  return isRecord(claim['spec']) ? claim['spec'] : {};
}

function storageAt(claim: StoredObject, path: readonly string[]): bigint {
  const size = valueAt(claim, ...path);
  return (typeof size === 'string' ? parseQuantity(size) : undefined) ?? 0n;
}

const snapshotGroup = 'snapshot.storage.k8s.io';

/**
 * Sets the missing one of dataSource and dataSourceRef (registry/core/persistentvolumeclaim,
 * NormalizeDataSources). Drops a dataSource without dataSourceRef if its kind was never valid for dataSource
 * (EnforceDataSourceBackwardsCompatibility).
 */
function normalizeDataSource(given: JsonRecord): JsonRecord {
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
function checkDataSource(field: string, spec: JsonRecord): Cause[] {
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
