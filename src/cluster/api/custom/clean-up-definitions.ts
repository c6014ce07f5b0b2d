import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import { groupResource } from '../errors/status-errors.ts';
import type { Draft } from '../kinds/kind.ts';
import { deleteObject } from '../registry/delete.ts';
import { kindOf } from '../registry/registry.ts';
import type { Registry } from '../registry/registry.ts';
import { storeUpdate } from '../registry/update.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { storedKind } from './custom-kind.ts';
import { cleanupFinalizer } from './custom-resource-definitions.ts';
import { asDefinition } from './definition.ts';
import { settleDefinitions } from './settle-definitions.ts';

const definitions = groupResource(customResourceDefinitions);

const isLeaving = ({ metadata }: StoredObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(cleanupFinalizer) === true;

/**
 * Deletes the instances of definitions that are being deleted, and lets a definition go when its last instance has
 * gone (apiextensions pkg/controller/finalizer); settles the others (settle-definitions.ts). Works after the write that gave it work, and at once for what an
 * earlier process left half done. What fails (a full disk) is told to `onError` and tried again with the next change.
 * Answers how to stop.
 */
export function cleanUpDefinitions(registry: Registry, onError: (error: unknown) => void): () => void {
  const { store } = registry;
  let stopped = false;
  let planned = false;
  const settle = (): void => {
    planned = false;
    if (stopped) return;
    try {
      for (const object of store.list(definitions).filter(isLeaving)) cleanUp(registry, object);
      settleDefinitions(registry);
    } catch (error) {
      onError(error);
    }
  };
  // not within the write that is told of: its other listeners have to hear of it first
  const plan = (): void => {
    if (planned) return;
    planned = true;
    queueMicrotask(settle);
  };
  const unsubscribe = store.subscribe(({ resource }) => {
    if (resource === definitions || ofLeaving(registry, resource)) plan();
  });
  plan();
  return () => {
    stopped = true;
    unsubscribe();
  };
}

function ofLeaving({ store }: Registry, resource: string): boolean {
  const definition = store.get(definitions, undefined, resource);
  return definition !== undefined && isLeaving(definition);
}

function cleanUp(registry: Registry, definition: StoredObject): void {
  const { name } = definition.metadata;
  const kind = storedKind(asDefinition(definition));
  for (const { metadata } of registry.store.list(name)) {
    if (metadata.deletionTimestamp !== undefined) continue;
    deleteObject(registry, kind, { namespace: metadata.namespace, name: metadata.name });
  }
  if (registry.store.list(name).length > 0) return;
  const finalizers = (definition.metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer);
  const draft: Draft = { ...definition, metadata: { ...definition.metadata, finalizers } };
  storeUpdate(registry, kindOf(registry, customResourceDefinitions), {
    draft,
    current: definition,
    dryRun: false,
  });
}
