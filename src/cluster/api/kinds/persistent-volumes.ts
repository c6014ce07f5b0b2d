import { persistentVolumes } from '../../../kubernetes/resources.ts';
import { notDoneHere, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import { fields, flag, kindSchema, listOf, mapOf, quantity, text, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { checkAccessModes, shortAccessModes } from './access-modes.ts';
import { ageColumn, at, column, nameColumn, textAt } from './columns.ts';
import { objectReference } from './events.ts';
import type { Draft, Kind } from './kind.ts';
import { nodeSelector } from './node-selector-schema.ts';
import { checkImmutable } from './object-meta.ts';
import { checkQuantity } from './resources.ts';

function validate(draft: Draft): Cause[] {
  const policy = textAt(draft, ['spec', 'persistentVolumeReclaimPolicy']);
  const sources = ['local', 'hostPath', 'csi'].filter((source) => isRecord(at(draft, 'spec', source)));
  return [
    ...checkQuantity('spec.capacity[storage]', at(draft, 'spec', 'capacity', 'storage')),
    ...checkAccessModes('spec.accessModes', at(draft, 'spec', 'accessModes')),
    ...(sources.length === 0 ? [required('spec', 'must specify a volume type')] : []),
    ...(sources.length > 1 ? [notDoneHere('spec.hostPath', 'more than one volume type')] : []),
    ...sources
      .filter((source) => source !== 'csi' && !textAt(draft, ['spec', source, 'path']).startsWith('/'))
      .map((source) => required(`spec.${source}.path`, 'an absolute path')),
    ...(sources.includes('csi') ? checkDriver(draft) : []),
    ...(sources[0] === 'local' && !isRecord(at(draft, 'spec', 'nodeAffinity', 'required'))
      ? [required('spec.nodeAffinity', 'Local volume requires node affinity')]
      : []),
    ...(['Delete', 'Retain'].includes(policy)
      ? []
      : [unsupportedValue('spec.persistentVolumeReclaimPolicy', policy, ['Delete', 'Retain'])]),
    ...(textAt(draft, ['spec', 'volumeMode']) === 'Filesystem'
      ? []
      : [notDoneHere('spec.volumeMode', 'volumes other than Filesystem')]),
  ];
}

/** Objects that an external provisioner makes are kept and bound; the embedded node has no drivers and says so to pods. */
function checkDriver(draft: Draft): Cause[] {
  return ['driver', 'volumeHandle']
    .filter((field) => textAt(draft, ['spec', 'csi', field]) === '')
    .map((field) => required(`spec.csi.${field}`, ''));
}

function claim(object: StoredObject): string {
  const name = textAt(object, ['spec', 'claimRef', 'name']);
  return name === '' ? '' : `${textAt(object, ['spec', 'claimRef', 'namespace'])}/${name}`;
}

function phase(object: StoredObject): string {
  return object.metadata.deletionTimestamp === undefined
    ? textAt(object, ['status', 'phase'])
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
      accessModes: listOf(text),
      persistentVolumeReclaimPolicy: text,
      storageClassName: text,
      volumeAttributesClassName: text,
      volumeMode: text,
      claimRef: objectReference,
      mountOptions: listOf(text),
      nodeAffinity: fields({ required: nodeSelector }),
      local: fields({ path: text }),
      hostPath: fields({ path: text, type: text }),
      csi: fields({
        driver: text,
        volumeHandle: text,
        fsType: text,
        readOnly: flag,
        volumeAttributes: mapOf(text),
        nodeStageSecretRef: fields({ name: text, namespace: text }),
      }),
    }),
    status: fields({ phase: text, reason: text, message: text, lastPhaseTransitionTime: time }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Capacity', (object) => textAt(object, ['spec', 'capacity', 'storage'])),
    column('Access Modes', (object) => shortAccessModes(at(object, 'spec', 'accessModes'))),
    column('Reclaim Policy', (object) => textAt(object, ['spec', 'persistentVolumeReclaimPolicy'])),
    column('Status', phase),
    column('Claim', claim),
    column('StorageClass', (object) => textAt(object, ['spec', 'storageClassName'])),
    column('VolumeAttributesClass', (object) =>
      textAt(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
    ),
    column('Reason', (object) => textAt(object, ['status', 'reason'])),
    ageColumn,
    column('VolumeMode', (object) => textAt(object, ['spec', 'volumeMode'], '<unset>'), { wide: true }),
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
    ...checkImmutable('spec.local', at(draft, 'spec', 'local'), at(current, 'spec', 'local')),
    ...checkImmutable('spec.hostPath', at(draft, 'spec', 'hostPath'), at(current, 'spec', 'hostPath')),
    ...checkImmutable('spec.csi', at(draft, 'spec', 'csi'), at(current, 'spec', 'csi')),
    ...checkImmutable(
      'spec.nodeAffinity',
      at(draft, 'spec', 'nodeAffinity'),
      at(current, 'spec', 'nodeAffinity'),
    ),
  ],
};
