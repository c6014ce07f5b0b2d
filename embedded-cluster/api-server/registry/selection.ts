import type { Kind } from '../kinds/kind.ts';
import {
  assertSelectable,
  matchesFields,
  parseFieldSelector,
  matchesLabels,
  parseLabelSelector,
} from './selectors.ts';
import type { StoredObject } from '../store/stored-object.ts';

export interface SelectionQuery {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/**
 * Returns a filter for namespace and both selectors. Throws ApiError 400 for a selector that cannot be parsed
 * or that has a field that this kind does not support.
 */
export function selection(kind: Kind, query: SelectionQuery): (object: StoredObject) => boolean {
  const labels = parseLabelSelector(query.labelSelector ?? '');
  const fields = parseFieldSelector(query.fieldSelector ?? '');
  assertSelectable(fields, selectableFields(kind, emptyObject), hasFieldLabelConversion(kind));
  const { namespace } = query;
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    matchesLabels(labels, object.metadata.labels) &&
    (fields.length === 0 || matchesFields(fields, selectableFields(kind, object)));
}

/**
 * Kinds with a conversion of their own for field labels (pkg/apis/core/v1/conversion.go and similar files).
 */
const kindsWithFieldLabels = new Set(['Event', 'Namespace', 'Node', 'Pod', 'Secret', 'Service']);

function hasFieldLabelConversion({ isCustomResource, name }: Kind): boolean {
  return isCustomResource === true || kindsWithFieldLabels.has(name);
}

const emptyObject: StoredObject = { metadata: { name: '', uid: '', resourceVersion: '' } };

function selectableFields(kind: Kind, object: StoredObject): Record<string, string> {
  return {
    'metadata.name': object.metadata.name,
    ...(kind.resource.namespaced ? { 'metadata.namespace': object.metadata.namespace ?? '' } : {}),
    ...kind.selectableFields?.(object),
  };
}
