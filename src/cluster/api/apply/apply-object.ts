import { groupResource, statusError, tooLarge } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import { createObject } from '../registry/create.ts';
import { apiVersionOf, inVersionOf } from '../registry/decode-draft.ts';
import { timestamp } from '../registry/registry.ts';
import type { Location, Registry } from '../registry/registry.ts';
import { updateObject } from '../registry/update.ts';
import type { UpdateOptions } from '../registry/update.ts';
import { jsonEqual } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { checkedPatch } from './checked-patch.ts';
import {
  fieldsOf,
  mergeApplied,
  printPath,
  removeAt,
  sameFields,
  union,
  valueAt,
  without,
} from './field-set.ts';
import type { FieldPath, FieldSet } from './field-set.ts';
import {
  isBy,
  isTooLargeToManage,
  managedContent,
  managersOf,
  toManagedFields,
  writableContent,
} from './managers.ts';
import type { Manager, Writer } from './managers.ts';
import { shapeOf } from './shape.ts';
import type { Shape } from './shape.ts';

export interface ApplyOptions extends UpdateOptions {
  readonly fieldManager: string;
  /** Takes fields from whoever else has them. */
  readonly force: boolean;
  /** Called before an object is made; throws ApiError 403 where the user may only patch. */
  readonly assertMayCreate: () => void;
}

export interface Applied {
  readonly object: StoredObject;
  readonly created: boolean;
}

/**
 * PATCH application/apply-patch+yaml (kubernetes.io: server-side apply): the object gets the fields that are applied
 * and loses those that this manager applied before and now does not, unless somebody else has them too. Makes the
 * object where there is none.
 * Throws ApiError 400 and 500 (body), 413 (for the search for each field), 409 (fields of others), and what a create or an update throws.
 */
export function applyObject(
  registry: Registry,
  kind: Kind,
  location: Location,
  body: unknown,
  options: ApplyOptions,
): Applied {
  assertManageable(body);
  const patch = checkedPatch(kind, location, body, options);
  const shape = shapeOf(kind);
  const writer: Writer = {
    manager: options.fieldManager,
    operation: 'Apply',
    subresource: options.subresource ?? '',
    apiVersion: apiVersionOf(kind),
    time: timestamp(registry.clock.now()),
  };
  const wanted = writableContent(kind, patch, options.subresource);
  const fields = fieldsOf(shape, wanted);
  const { namespace, name } = location;
  const stored = registry.store.get(groupResource(kind.resource), namespace, name);
  if (stored === undefined) {
    options.assertMayCreate();
    const managedFields = toManagedFields([{ ...writer, fields }]);
    return {
      object: createObject(registry, kind, patch, { ...options, namespace, managedFields }),
      created: true,
    };
  }
  const current = inVersionOf(kind, stored);
  assertManageable(current);
  const managers = settleManagers(kind, shape, { current, wanted, fields, writer, force: options.force });
  const merged = merge(shape, { current, wanted, fields, writer }, patch.metadata);
  const managedFields = toManagedFields(managers);
  return {
    object: updateObject(registry, kind, location, merged, { ...options, managedFields }),
    created: false,
  };
}

function assertManageable(object: unknown): void {
  if (isTooLargeToManage(object))
    throw tooLarge('the object has too many values for server-side apply; replace it');
}

interface Writing {
  readonly current: StoredObject;
  readonly wanted: JsonRecord;
  readonly fields: FieldSet;
  readonly writer: Writer;
}

/** Who has what afterwards. Throws ApiError 409 for fields that another one has with another value. */
function settleManagers(
  kind: Kind,
  shape: Shape,
  { current, wanted, fields, writer, force }: Writing & { readonly force: boolean },
): Manager[] {
  const live = managedContent(current);
  const managers = managersBefore(shape, current, writer);
  const contested = new Map(
    [...fields].filter(([, path]) => !jsonEqual(valueAt(shape, live, path), valueAt(shape, wanted, path))),
  );
  const others = managers.filter((one) => !isBy(one, writer));
  const conflicts = others.flatMap((one) =>
    [...contested].filter(([text]) => one.fields.has(text)).map(([, path]) => ({ one, path })),
  );
  if (conflicts.length > 0 && !force) throw conflict(kind, current, conflicts);
  const own = managers.find((one) => isBy(one, writer));
  const mine = own !== undefined && sameFields(own.fields, fields) ? own : { ...writer, fields };
  const kept = managers.map((one) =>
    one === own ? mine : { ...one, fields: without(one.fields, contested) },
  );
  return own === undefined ? [...kept, mine] : kept;
}

/** What was there before anybody applied counts as somebody's (managedfields/internal skipnonapplied.go). */
function managersBefore(shape: Shape, current: StoredObject, writer: Writer): Manager[] {
  const managers = managersOf(current);
  if (managers.length > 0) return managers;
  const { status: _status, ...content } = managedContent(current);
  const fields = fieldsOf(shape, content);
  return [{ ...writer, manager: 'before-first-apply', operation: 'Update', subresource: '', fields }];
}

function merge(
  shape: Shape,
  { current, wanted, fields, writer }: Writing,
  { uid, resourceVersion }: Partial<StoredObject['metadata']>,
): unknown {
  const managers = managersOf(current);
  const others = managers.filter((one) => !isBy(one, writer)).map((one) => one.fields);
  const before = managers.find((one) => isBy(one, writer))?.fields ?? (new Map() as FieldSet);
  const dropped = without(before, fields, union(...others));
  // an item goes with all that is in it; what it is known by goes with it only
  const outermost = [...dropped.values()].filter(
    (path) =>
      !path.some((_, length) => dropped.has(JSON.stringify(path.slice(0, length)))) &&
      !isKeyOf(path, fields, others),
  );
  const left = outermost.reduce<unknown>((value, path) => removeAt(shape, value, path), current);
  const merged = mergeApplied(shape, left, wanted) as JsonRecord & Pick<StoredObject, 'metadata'>;
  // what the patch is conditional on
  const conditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  return { ...merged, metadata: { ...merged.metadata, ...conditions } };
}

/** Whether a path is a member of the key of an item that stays. */
function isKeyOf(path: FieldPath, fields: FieldSet, others: readonly FieldSet[]): boolean {
  const [item, member] = [path.at(-2), path.at(-1)];
  if (item?.startsWith('k:') !== true || member?.startsWith('f:') !== true) return false;
  const parent = JSON.stringify(path.slice(0, -1));
  const stays = fields.has(parent) || others.some((set) => set.has(parent));
  return stays && Object.hasOwn(JSON.parse(item.slice(2)) as object, member.slice(2));
}

function conflict(
  kind: Kind,
  { metadata }: StoredObject,
  conflicts: readonly { readonly one: Manager; readonly path: FieldPath }[],
): Error {
  const causes = conflicts.map(({ one, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${JSON.stringify(one.manager)}${one.operation === 'Update' ? ` using ${one.apiVersion}` : ''}`,
    field: printPath(path),
  }));
  const names = [...new Set(causes.map(({ message }) => message))].join(', ');
  const noun = causes.length === 1 ? 'conflict' : 'conflicts';
  const message = `Apply failed with ${causes.length} ${noun}: ${names}: ${causes.map(({ field }) => field).join(', ')}`;
  return statusError(409, 'Conflict', message, {
    name: metadata.name,
    kind: kind.resource.plural,
    ...(kind.resource.group !== '' && { group: kind.resource.group }),
    causes,
  });
}
