import { events } from '../../../kubernetes/resources.ts';
import { invalidValue, required } from '../errors/field-causes.ts';
import { fields, integer, kindSchema, text, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { at, column, nameColumn, textAt } from './columns.ts';
import { ageOf } from './duration.ts';
import type { Kind } from './kind.ts';

/** v1.ObjectReference */
export const objectReference = fields({
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  apiVersion: text,
  resourceVersion: text,
  fieldPath: text,
});

function lastSeen(object: StoredObject, now: number): string {
  const last = at(object, 'series', 'lastObservedTime') ?? object['lastTimestamp'] ?? object['eventTime'];
  const first = object['firstTimestamp'] ?? object['eventTime'];
  const count = at(object, 'series', 'count') ?? object['count'];
  const age = ageOf(last ?? first, now);
  return typeof count === 'number' && count > 1 ? `${age} (x${count} over ${ageOf(first, now)})` : age;
}

function involved(object: StoredObject): string {
  const kind = textAt(object, ['involvedObject', 'kind']).toLowerCase();
  return `${kind}/${textAt(object, ['involvedObject', 'name'])}`;
}

function source(object: StoredObject): string {
  const component = textAt(object, ['source', 'component'], textAt(object, ['reportingComponent']));
  const host = textAt(object, ['source', 'host'], textAt(object, ['reportingInstance']));
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
    reason: text,
    message: text,
    source: fields({ component: text, host: text }),
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: time,
    count: integer,
    series: fields({ count: integer, lastObservedTime: time }),
    type: text,
    action: text,
    reportingComponent: text,
    reportingInstance: text,
  }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    column('Last Seen', lastSeen),
    column('Type', (object) => textAt(object, ['type'])),
    column('Reason', (object) => textAt(object, ['reason'])),
    column('Object', involved),
    column('Subobject', (object) => textAt(object, ['involvedObject', 'fieldPath']), { wide: true }),
    column('Source', source, { wide: true }),
    column('Message', (object) => textAt(object, ['message']).trim()),
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
    const namespace = textAt(draft, ['involvedObject', 'namespace']);
    const own = draft.metadata.namespace ?? '';
    // cluster-scoped objects have their events in `default`
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
      involvedFields.map((key) => [`involvedObject.${key}`, textAt(object, ['involvedObject', key])]),
    ),
    reason: textAt(object, ['reason']),
    reportingComponent: textAt(object, ['reportingComponent']),
    source: textAt(object, ['source', 'component'], textAt(object, ['reportingComponent'])),
    type: textAt(object, ['type']),
  }),
};
