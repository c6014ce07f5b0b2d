import { events } from '../../../src/kubernetes/resources.ts';
import { invalidValue, required } from '../errors/field-causes.ts';
import { fields, integer, kindSchema, string, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { valueAt, column, nameColumn, stringAt, ageOf } from './columns.ts';
import type { Kind } from './kind.ts';

/** v1.ObjectReference */
export const objectReference = fields({
  kind: string,
  namespace: string,
  name: string,
  uid: string,
  apiVersion: string,
  resourceVersion: string,
  fieldPath: string,
});

function lastSeen(object: StoredObject, now: number): string {
  const last =
    valueAt(object, 'series', 'lastObservedTime') ?? object['lastTimestamp'] ?? object['eventTime'];
  const first = object['firstTimestamp'] ?? object['eventTime'];
  const count = valueAt(object, 'series', 'count') ?? object['count'];
  const age = ageOf(last ?? first, now);
  return typeof count === 'number' && count > 1 ? `${age} (x${count} over ${ageOf(first, now)})` : age;
}

function involved(object: StoredObject): string {
  const kind = stringAt(object, ['involvedObject', 'kind']).toLowerCase();
  return `${kind}/${stringAt(object, ['involvedObject', 'name'])}`;
}

function source(object: StoredObject): string {
  const component = stringAt(object, ['source', 'component'], stringAt(object, ['reportingComponent']));
  const host = stringAt(object, ['source', 'host'], stringAt(object, ['reportingInstance']));
  return host === '' ? component : `${component}, ${host}`;
}

const involvedFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

export const eventKind: Kind = {
  resource: events,
  name: 'Event',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  schema: kindSchema({
    involvedObject: objectReference,
    related: objectReference,
    reason: string,
    message: string,
    source: fields({ component: string, host: string }),
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: time,
    count: integer,
    series: fields({ count: integer, lastObservedTime: time }),
    type: string,
    action: string,
    reportingComponent: string,
    reportingInstance: string,
  }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    column('Last Seen', lastSeen),
    column('Type', (object) => stringAt(object, ['type'])),
    column('Reason', (object) => stringAt(object, ['reason'])),
    column('Object', involved),
    column('Subobject', (object) => stringAt(object, ['involvedObject', 'fieldPath']), { wide: true }),
    column('Source', source, { wide: true }),
    column('Message', (object) => stringAt(object, ['message']).trim()),
    column('First Seen', (object, now) => ageOf(object['firstTimestamp'] ?? object['eventTime'], now), {
      wide: true,
    }),
    column('Count', (object) => (typeof object['count'] === 'number' ? object['count'] : 1), {
      wide: true,
      type: 'integer',
    }),
    { ...nameColumn, priority: 1 },
  ],
  validate: (draft) => {
    const namespace = stringAt(draft, ['involvedObject', 'namespace']);
    const own = draft.metadata.namespace ?? '';
    // Events of cluster-scoped objects are in the namespace `default`.
    const expected = namespace === '' ? 'default' : namespace;
    return [
      ...(draft['involvedObject'] === undefined ? [required('involvedObject')] : []),
      ...(draft['involvedObject'] === undefined || own === expected
        ? []
        : [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')]),
    ];
  },
  selectableFields: (object) => ({
    ...Object.fromEntries(
      involvedFields.map((key) => [`involvedObject.${key}`, stringAt(object, ['involvedObject', key])]),
    ),
    reason: stringAt(object, ['reason']),
    reportingComponent: stringAt(object, ['reportingComponent']),
    source: stringAt(object, ['source', 'component'], stringAt(object, ['reportingComponent'])),
    type: stringAt(object, ['type']),
  }),
};
