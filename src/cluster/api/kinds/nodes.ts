import { nodes } from '../../../kubernetes/resources.ts';
import { isRecord } from '../schema/json.ts';
import { fields, flag, integer, kindSchema, listOf, mapOf, quantity, text, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, at, column, nameColumn, textAt } from './columns.ts';
import type { Kind } from './kind.ts';

const condition = fields({
  type: text,
  status: text,
  reason: text,
  message: text,
  lastHeartbeatTime: time,
  lastTransitionTime: time,
});
const nodeInfoFields = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];

function items(object: StoredObject, ...path: string[]): Record<string, unknown>[] {
  const list = at(object, ...path);
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function status(object: StoredObject): string {
  const ready = items(object, 'status', 'conditions').find((condition_) => condition_['type'] === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return at(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

function roles(object: StoredObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const found = Object.keys(object.metadata.labels ?? {})
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length));
  return found.length === 0 ? '<none>' : found.toSorted().join(',');
}

function address(type: string): (object: StoredObject) => string {
  return (object) => {
    const found = items(object, 'status', 'addresses').find((entry) => entry['type'] === type);
    return typeof found?.['address'] === 'string' ? found['address'] : '<none>';
  };
}

const info = (field: string) => (object: StoredObject) =>
  textAt(object, ['status', 'nodeInfo', field], '<unknown>');

export const nodeKind: Kind = {
  resource: nodes,
  name: 'Node',
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  schema: kindSchema({
    spec: fields({
      podCIDR: text,
      podCIDRs: listOf(text, 'set'),
      providerID: text,
      unschedulable: flag,
      taints: listOf(fields({ key: text, value: text, effect: text, timeAdded: time })),
    }),
    status: fields({
      capacity: mapOf(quantity),
      allocatable: mapOf(quantity),
      conditions: listOf(condition, { key: 'type' }),
      addresses: listOf(fields({ type: text, address: text }), { key: 'type' }),
      nodeInfo: fields(Object.fromEntries(nodeInfoFields.map((field) => [field, text]))),
      images: listOf(fields({ names: listOf(text), sizeBytes: integer })),
      daemonEndpoints: fields({ kubeletEndpoint: fields({ Port: integer }) }),
    }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Status', status),
    column('Roles', roles),
    ageColumn,
    column('Version', (object) => textAt(object, ['status', 'nodeInfo', 'kubeletVersion'])),
    column('Internal-IP', address('InternalIP'), { wide: true }),
    column('External-IP', address('ExternalIP'), { wide: true }),
    column('OS-Image', info('osImage'), { wide: true }),
    column('Kernel-Version', info('kernelVersion'), { wide: true }),
    column('Container-Runtime', info('containerRuntimeVersion'), { wide: true }),
  ],
  fillDefaults: (draft) => {
    draft['spec'] ??= {};
  },
  validate: () => [],
  selectableFields: (object) => ({
    'spec.unschedulable': String(at(object, 'spec', 'unschedulable') === true),
  }),
};
