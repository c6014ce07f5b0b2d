import { notAcceptable } from '../errors/status-errors.ts';
import type { WatchEvent } from '../../../src/kubernetes/api.ts';
import type { Bookmark, ObjectList } from '../../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { defaultColumns } from '../kinds/columns.ts';
import type { JsonRecord } from '../schema/json.ts';
import { apiVersionOf } from '../registry/decode-draft.ts';

/** The representation that a client requests: full objects, rows of a table for kubectl, or metadata only. */
type Representation = 'object' | 'table' | 'metadata';

const supportedTypes = ['application/json', 'application/json;as=Table;g=meta.k8s.io;v=v1'];

export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** The representation of objects for one client. */
export interface ResponseFormat {
  readonly kind: Kind;
  readonly representation: Representation;
  readonly includeObject: IncludeObject;
  /** Returns milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Returns the first supported representation of an Accept header; JSON if the header is absent. Throws
 * ApiError 406 if none is supported.
 */
export function negotiate(accept: string | undefined): Representation {
  for (const entry of mediaTypes(accept ?? '*/*')) {
    if (!['application/json', 'application/*', '*/*'].includes(entry.type)) continue;
    const as = entry.parameters.get('as');
    if (as === undefined) return 'object';
    if (entry.parameters.get('g') !== 'meta.k8s.io' || entry.parameters.get('v') !== 'v1') continue;
    if (as === 'Table') return 'table';
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata';
  }
  throw notAcceptable(supportedTypes);
}

interface MediaType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Returns the entries of an Accept or Content-Type header, in order. */
export function mediaTypes(header: string): MediaType[] {
  return header.split(',').map((entry) => {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const pairs = parameters.map((parameter): [string, string] => {
      const [key = '', value = ''] = parameter.split('=');
      return [key.trim(), value.trim()];
    });
    return { type: type.toLowerCase(), parameters: new Map(pairs) };
  });
}

/** Returns one object in the client's representation. */
export function formatObject(format: ResponseFormat, object: StoredObject): unknown {
  switch (format.representation) {
    case 'object':
      return object;
    case 'metadata':
      return toPartialMetadata(object);
    case 'table':
      return toTable(
        format.kind,
        [object],
        { resourceVersion: object.metadata.resourceVersion },
        options(format),
      );
  }
}

/** Returns a list in the client's representation. */
export function formatList(format: ResponseFormat, list: ObjectList<StoredObject>): unknown {
  switch (format.representation) {
    case 'object':
      return list;
    case 'metadata':
      return {
        ...list,
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        items: list.items.map(toPartialMetadata),
      };
    case 'table':
      return toTable(format.kind, list.items, list.metadata, options(format));
  }
}

/** Returns a watch event in the client's representation. */
export function formatEvent(format: ResponseFormat, event: WatchEvent<StoredObject>): unknown {
  if (event.type === 'ERROR' || format.representation === 'object') return event;
  if (event.type !== 'BOOKMARK') return { type: event.type, object: formatObject(format, event.object) };
  if (format.representation === 'metadata')
    return { type: event.type, object: toPartialMetadata(event.object) };
  const resourceVersion = event.object.metadata.resourceVersion ?? '';
  return { type: event.type, object: toTable(format.kind, [], { resourceVersion }, options(format)) };
}

const options = (format: ResponseFormat): TableOptions => ({
  now: format.now(),
  includeObject: format.includeObject,
});

interface TableOptions {
  /** The current time in milliseconds since the epoch, from which ages are computed. */
  readonly now: number;
  /** The query parameter: the part of the object that each row carries. */
  readonly includeObject: IncludeObject;
}

/** Returns a metav1.Table of these objects: the output of `kubectl get`. */
function toTable(
  kind: Kind,
  objects: readonly StoredObject[],
  metadata: ObjectList<StoredObject>['metadata'] | { resourceVersion: string },
  { now, includeObject }: TableOptions,
): JsonRecord {
  const { columns = defaultColumns } = kind;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type, format, priority, description }) => ({
      name,
      type,
      format: format ?? '',
      description,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, now)),
      ...rowObject(kind, object, includeObject),
    })),
  };
}

function rowObject(kind: Kind, object: StoredObject, includeObject: IncludeObject): JsonRecord {
  switch (includeObject) {
    case 'None':
      return {};
    case 'Metadata':
      return { object: toPartialMetadata(object) };
    case 'Object':
      return { object: { ...object, kind: kind.name, apiVersion: apiVersionOf(kind) } };
  }
}

/** Returns a metav1.PartialObjectMetadata. */
export function toPartialMetadata({ metadata }: Bookmark): JsonRecord {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}
