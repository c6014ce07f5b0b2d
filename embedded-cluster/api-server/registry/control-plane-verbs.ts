import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { copyJson } from '../schema/json.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { namespaces, pods } from '../../../src/kubernetes/resources.ts';
import { conflict, groupResource, invalid } from '../errors/status-errors.ts';
import { required } from '../errors/field-causes.ts';
import type { MutableObject } from '../kinds/kind.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { canRemove, getObject, kindOf, type Location, type Registry } from './registry.ts';

/**
 * Serves POST pods/binding: sets a pod's node and the condition PodScheduled. Throws ApiError 404, 409 (the
 * pod has a node or a gate, or is being deleted; pkg/registry/core/pod/storage), 422 (no node named).
 */
export function bindPod(
  registry: Registry,
  location: Location,
  nodeName: string,
  dryRun = false,
): StoredObject {
  const current = getObject(registry, kindOf(registry, pods), location);
  const pod = copyJson(current) as unknown as Pod & MutableObject;
  if (nodeName === '') throw invalid('Binding', '', location.name, [required('target.name')]);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(
      pods,
      location.name,
      `pod ${location.name} is being deleted, cannot be assigned to a host`,
    );
  }
  if ((pod.spec.nodeName ?? '') !== '') {
    throw conflict(
      pods,
      location.name,
      `pod ${location.name} is already assigned to node "${pod.spec.nodeName}"`,
    );
  }
  if ((pod.spec.schedulingGates ?? []).length > 0) {
    throw conflict(pods, location.name, `pod ${location.name} has non-empty .spec.schedulingGates`);
  }
  pod.spec.nodeName = nodeName;
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: timestamp(registry.clock.now()),
  } as const;
  pod.status = { ...pod.status, conditions: [...others, scheduled] };
  return dryRun ? pod : registry.store.put(groupResource(pods), pod);
}

/**
 * Serves PUT namespaces/finalize: sets the finalizers of a namespace. An empty list removes a Terminating
 * namespace. Throws ApiError 404, and 409 if the list is empty and the namespace has objects or is not being
 * deleted.
 */
export function finalizeNamespace(
  registry: Registry,
  name: string,
  finalizers: readonly string[],
  dryRun = false,
): StoredObject {
  const kind = kindOf(registry, namespaces);
  const current = getObject(registry, kind, { namespace: undefined, name });
  // Without finalizers, a later delete would remove the namespace and leave its objects behind.
  if (current.metadata.deletionTimestamp === undefined && finalizers.length === 0) {
    throw conflict(namespaces, name, 'the namespace is not being deleted');
  }
  const remaining = finalizers.length === 0 ? contentOf(registry, name) : [];
  if (remaining.length > 0) {
    throw conflict(namespaces, name, `the namespace still holds ${remaining.slice(0, 5).join(', ')}`);
  }
  const draft: MutableObject = { ...copyJson(current) };
  draft['spec'] = finalizers.length === 0 ? {} : { finalizers: [...finalizers] };
  const resource = groupResource(namespaces);
  if (dryRun) return draft;
  return canRemove(kind, draft)
    ? registry.store.remove(resource, draft)
    : registry.store.put(resource, draft);
}

function contentOf(registry: Registry, namespace: string): string[] {
  return [...registry.kinds.entries()]
    .filter(([, kind]) => kind.resource.namespaced)
    .flatMap(([resource]) =>
      registry.store.list(resource, namespace).map((object) => `${resource}/${object.metadata.name}`),
    );
}
