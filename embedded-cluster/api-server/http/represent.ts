import type { WatchEvent } from '../../../src/kubernetes/api.ts';
import type { ObjectList } from '../../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { MediaTypeParams } from './media-type.ts';
import { metadataOf, tableOf } from './table.ts';
import type { IncludeObject, TableOptions } from './table.ts';

/** The representation of objects for one client. */
export interface ResponseFormat {
  readonly kind: Kind;
  readonly representation: MediaTypeParams;
  readonly includeObject: IncludeObject;
  /** Returns milliseconds since the epoch. */
  readonly now: () => number;
}

/** Returns one object in the client's representation. */
export function formatObject(view: ResponseFormat, object: StoredObject): unknown {
  switch (view.representation) {
    case 'object':
      return object;
    case 'metadata':
      return metadataOf(object);
    case 'table':
      return tableOf(
        view.kind,
        [object],
        { resourceVersion: object.metadata.resourceVersion },
        options(view),
      );
  }
}

/** Returns a list in the client's representation. */
export function representList(view: ResponseFormat, list: ObjectList<StoredObject>): unknown {
  switch (view.representation) {
    case 'object':
      return list;
    case 'metadata':
      return {
        ...list,
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        items: list.items.map(metadataOf),
      };
    case 'table':
      return tableOf(view.kind, list.items, list.metadata, options(view));
  }
}

/** Returns a watch event in the client's representation. */
export function representEvent(view: ResponseFormat, event: WatchEvent<StoredObject>): unknown {
  if (event.type === 'ERROR' || view.representation === 'object') return event;
  if (event.type !== 'BOOKMARK') return { type: event.type, object: formatObject(view, event.object) };
  if (view.representation === 'metadata') return { type: event.type, object: metadataOf(event.object) };
  const resourceVersion = event.object.metadata.resourceVersion ?? '';
  return { type: event.type, object: tableOf(view.kind, [], { resourceVersion }, options(view)) };
}

const options = (view: ResponseFormat): TableOptions => ({
  now: view.now(),
  includeObject: view.includeObject,
});
