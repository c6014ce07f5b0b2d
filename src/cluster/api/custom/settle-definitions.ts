import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import { groupResource } from '../errors/status-errors.ts';
import type { Draft, Kind } from '../kinds/kind.ts';
import { decodeDraft } from '../registry/decode-draft.ts';
import { kindOf } from '../registry/registry.ts';
import type { Registry } from '../registry/registry.ts';
import { updateObject } from '../registry/update.ts';
import { copyJson, jsonEqual } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { asDefinition, isEstablished } from './definition.ts';

const definitions = groupResource(customResourceDefinitions);
const lenient = { directive: 'Ignore', duplicates: [], warn: () => undefined } as const;

/**
 * After a change of definitions: objects stored under an earlier schema are brought under the present one (a real
 * server does that at each read), and a definition whose names were taken gets them when they are free. Idempotent.
 * Throws what the store throws.
 */
export function settleDefinitions(registry: Registry): void {
  const { store, kinds } = registry;
  for (const object of store.list(definitions)) {
    const { name } = object.metadata;
    const kind = kinds.get(name);
    if (!isEstablished(asDefinition(object))) offerNames(registry, object);
    else if (kind?.custom !== undefined)
      for (const one of store.list(name)) settleObject(registry, kind, one);
  }
}

function offerNames(registry: Registry, definition: StoredObject): void {
  if (definition.metadata.deletionTimestamp !== undefined) return;
  const location = { namespace: undefined, name: definition.metadata.name };
  updateObject(registry, kindOf(registry, customResourceDefinitions), location, copyJson(definition));
}

function settleObject({ store }: Registry, kind: Kind, object: StoredObject): void {
  const draft: Draft = decodeDraft(kind, { ...object, apiVersion: undefined }, lenient);
  kind.fillDefaults?.(draft);
  if (!jsonEqual(draft, object)) store.put(groupResource(kind.resource), draft);
}
