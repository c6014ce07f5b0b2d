import type { KubernetesObject, ObjectList } from '../../../src/kubernetes/object.ts';
import { defaultColumns } from '../kinds/columns.ts';
import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { apiVersionOf } from '../registry/decode-draft.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** The query parameter: the part of the object that each row carries. */
  readonly includeObject: IncludeObject;
}

/** Returns a metav1.Table of these objects: the output of `kubectl get`. */
export function tableOf(
  kind: Kind,
  objects: readonly StoredObject[],
  metadata: ObjectList<KubernetesObject>['metadata'] | { resourceVersion: string },
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
      return { object: metadataOf(object) };
    case 'Object':
      return { object: { ...object, kind: kind.name, apiVersion: apiVersionOf(kind) } };
  }
}

/** Returns a metav1.PartialObjectMetadata. */
export function metadataOf({ metadata }: KubernetesObject): JsonRecord {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}
