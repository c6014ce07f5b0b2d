import { nodes } from '../../../src/kubernetes/resources.ts';
import { isRecord } from '../schema/json.ts';
import {
  fields,
  boolean,
  integer,
  kindSchema,
  array,
  mapOf,
  quantity,
  string,
  time,
} from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import type { Kind } from './kind.ts';

const condition = fields({
  type: string,
  status: string,
  reason: string,
  message: string,
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

function recordsAt(object: StoredObject, ...path: string[]): Record<string, unknown>[] {
  const list = valueAt(object, ...path);
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function status(object: StoredObject): string {
  const ready = recordsAt(object, 'status', 'conditions').find(
    (condition_) => condition_['type'] === 'Ready',
  );
  const state = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return valueAt(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
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
    const found = recordsAt(object, 'status', 'addresses').find((entry) => entry['type'] === type);
    return typeof found?.['address'] === 'string' ? found['address'] : '<none>';
  };
}

const info = (field: string) => (object: StoredObject) =>
  stringAt(object, ['status', 'nodeInfo', field], '<unknown>');

export const nodeKind: Kind = {
  resource: nodes,
  name: 'Node',
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  schema: kindSchema({
    spec: fields({
      podCIDR: string,
      podCIDRs: array(string, 'set'),
      providerID: string,
      unschedulable: boolean,
      taints: array(fields({ key: string, value: string, effect: string, timeAdded: time })),
    }),
    status: fields({
      capacity: mapOf(quantity),
      allocatable: mapOf(quantity),
      conditions: array(condition, { key: 'type' }),
      addresses: array(fields({ type: string, address: string }), { key: 'type' }),
      nodeInfo: fields(Object.fromEntries(nodeInfoFields.map((field) => [field, string]))),
      images: array(fields({ names: array(string), sizeBytes: integer })),
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
    column('Version', (object) => stringAt(object, ['status', 'nodeInfo', 'kubeletVersion'])),
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
    'spec.unschedulable': String(valueAt(object, 'spec', 'unschedulable') === true),
  }),
};
