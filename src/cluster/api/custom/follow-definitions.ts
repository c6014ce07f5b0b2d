import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import { groupResource } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { customKind } from './custom-kind.ts';
import { asDefinition, isEstablished } from './definition.ts';

const definitions = groupResource(customResourceDefinitions);

/**
 * Keeps `kinds` in step with the definitions in the store, from now on: an established one adds its kind, its end
 * removes it. `builtIn` kinds are never replaced. Answers how to stop.
 */
export function followDefinitions(
  store: ObjectStore,
  kinds: Map<string, Kind>,
  builtIn: ReadonlyMap<string, Kind>,
): () => void {
  const follow = (object: StoredObject, gone: boolean): void => {
    const { name } = object.metadata;
    if (builtIn.has(name)) return;
    const definition = asDefinition(object);
    const kind = gone || !isEstablished(definition) ? undefined : customKind(definition);
    if (kind === undefined) kinds.delete(name);
    else kinds.set(name, kind);
  };
  for (const object of store.list(definitions)) follow(object, false);
  return store.subscribe(({ type, resource, object }) => {
    if (resource === definitions) follow(object, type === 'DELETED');
  });
}
