import { persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  unsupported,
  required,
  unsupportedValue,
  type Cause,
  forbiddenField,
} from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import {
  fields,
  boolean,
  kindSchema,
  array,
  mapOf,
  quantity,
  string,
  time,
  nodeSelector,
} from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import { objectReference } from './events.ts';
import type { MutableObject, Kind } from './kind.ts';
import { checkImmutable } from './object-meta.ts';
import { checkQuantity } from './quantities.ts';

const abbreviations: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function validate(draft: MutableObject): Cause[] {
  const policy = stringAt(draft, ['spec', 'persistentVolumeReclaimPolicy']);
  const sources = ['local', 'hostPath', 'csi'].filter((source) => isRecord(valueAt(draft, 'spec', source)));
  return [
    ...checkQuantity('spec.capacity[storage]', valueAt(draft, 'spec', 'capacity', 'storage')),
    ...checkAccessModes('spec.accessModes', valueAt(draft, 'spec', 'accessModes')),
    ...(sources.length === 0 ? [required('spec', 'must specify a volume type')] : []),
    ...(sources.length > 1 ? [unsupported('spec.hostPath', 'more than one volume type')] : []),
    ...sources
      .filter((source) => source !== 'csi' && !stringAt(draft, ['spec', source, 'path']).startsWith('/'))
      .map((source) => required(`spec.${source}.path`, 'an absolute path')),
    ...(sources.includes('csi') ? checkDriver(draft) : []),
    ...(sources[0] === 'local' && !isRecord(valueAt(draft, 'spec', 'nodeAffinity', 'required'))
      ? [required('spec.nodeAffinity', 'Local volume requires node affinity')]
      : []),
    ...(['Delete', 'Retain'].includes(policy)
      ? []
      : [unsupportedValue('spec.persistentVolumeReclaimPolicy', policy, ['Delete', 'Retain'])]),
    ...(stringAt(draft, ['spec', 'volumeMode']) === 'Filesystem'
      ? []
      : [unsupported('spec.volumeMode', 'volumes other than Filesystem')]),
  ];
}

/**
 * Returns the causes for `spec.csi`. Volumes of an external provisioner are stored and bound, but the
 * embedded node has no CSI drivers and reports that to pods that use them.
 */
function checkDriver(draft: MutableObject): Cause[] {
  return ['driver', 'volumeHandle']
    .filter((field) => stringAt(draft, ['spec', 'csi', field]) === '')
    .map((field) => required(`spec.csi.${field}`, ''));
}

function claim(object: StoredObject): string {
  const name = stringAt(object, ['spec', 'claimRef', 'name']);
  return name === '' ? '' : `${stringAt(object, ['spec', 'claimRef', 'namespace'])}/${name}`;
}

function phase(object: StoredObject): string {
  return object.metadata.deletionTimestamp === undefined
    ? stringAt(object, ['status', 'phase'])
    : 'Terminating';
}

export const persistentVolumeKind: Kind = {
  resource: persistentVolumes,
  name: 'PersistentVolume',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  categories: [],
  schema: kindSchema({
    spec: fields({
      capacity: mapOf(quantity),
      accessModes: array(string),
      persistentVolumeReclaimPolicy: string,
      storageClassName: string,
      volumeAttributesClassName: string,
      volumeMode: string,
      claimRef: objectReference,
      mountOptions: array(string),
      nodeAffinity: fields({ required: nodeSelector }),
      local: fields({ path: string }),
      hostPath: fields({ path: string, type: string }),
      csi: fields({
        driver: string,
        volumeHandle: string,
        fsType: string,
        readOnly: boolean,
        volumeAttributes: mapOf(string),
        nodeStageSecretRef: fields({ name: string, namespace: string }),
      }),
    }),
    status: fields({ phase: string, reason: string, message: string, lastPhaseTransitionTime: time }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Capacity', (object) => stringAt(object, ['spec', 'capacity', 'storage'])),
    column('Access Modes', (object) => shortAccessModes(valueAt(object, 'spec', 'accessModes'))),
    column('Reclaim Policy', (object) => stringAt(object, ['spec', 'persistentVolumeReclaimPolicy'])),
    column('Status', phase),
    column('Claim', claim),
    column('StorageClass', (object) => stringAt(object, ['spec', 'storageClassName'])),
    column('VolumeAttributesClass', (object) =>
      stringAt(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
    ),
    column('Reason', (object) => stringAt(object, ['status', 'reason'])),
    ageColumn,
    column('VolumeMode', (object) => stringAt(object, ['spec', 'volumeMode'], '<unset>'), { wide: true }),
  ],
  fillDefaults: (draft) => {
    const spec = isRecord(draft['spec']) ? draft['spec'] : {};
    draft['spec'] = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', ...spec };
  },
  prepareCreate: (draft, { now }) => {
    draft['status'] = { phase: 'Pending', lastPhaseTransitionTime: now };
  },
  validate,
  validateUpdate: (draft, current) => [
    ...checkImmutable('spec.local', valueAt(draft, 'spec', 'local'), valueAt(current, 'spec', 'local')),
    ...checkImmutable(
      'spec.hostPath',
      valueAt(draft, 'spec', 'hostPath'),
      valueAt(current, 'spec', 'hostPath'),
    ),
    ...checkImmutable('spec.csi', valueAt(draft, 'spec', 'csi'), valueAt(current, 'spec', 'csi')),
    ...checkImmutable(
      'spec.nodeAffinity',
      valueAt(draft, 'spec', 'nodeAffinity'),
      valueAt(current, 'spec', 'nodeAffinity'),
    ),
  ],
};

/** Returns the causes for the access modes of a claim or volume. */
export function checkAccessModes(field: string, modes: unknown): Cause[] {
  if (!Array.isArray(modes) || modes.length === 0)
    return [required(field, 'at least 1 access mode is required')];
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    return [forbiddenField(field, 'may not use ReadWriteOncePod with other access modes')];
  }
  return modes
    .filter((mode) => abbreviations[String(mode)] === undefined)
    .map((mode) => unsupportedValue(field, mode, Object.keys(abbreviations).toSorted()));
}

/** Returns the access modes as kubectl prints them: `RWO,RWX`. */
export function shortAccessModes(modes: unknown): string {
  return Array.isArray(modes)
    ? modes.map((mode) => abbreviations[String(mode)] ?? String(mode)).join(',')
    : '';
}
