import { conflict, badRequest, groupResource, invalid, staleVersion } from '../errors/status-errors.ts';
import { invalidValue } from '../errors/field-causes.ts';
import { admitWrite } from '../admission/admit-write.ts';
import { updateQuotaUsage } from '../admission/quota.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import { checkDeletionTime, checkMetadata, checkMetadataUpdate } from '../kinds/object-meta.ts';
import { copyJson, jsonEqual } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { decodeDraft } from './decode-draft.ts';
import {
  admissionContext,
  compactMetadata,
  canRemove,
  getObject,
  type Location,
  type Registry,
  type WriteOptions,
} from './registry.ts';

export interface UpdateOptions extends WriteOptions {
  readonly subresource?: 'status' | undefined;
}

/**
 * Serves PUT. Returns the object as stored. Unchanged content writes nothing and keeps the resourceVersion.
 * If the object is being deleted, removing its last finalizer removes it. Throws ApiError 400 (body, other
 * name), 404, 409 (another resourceVersion or uid), 422 (invalid, immutable).
 */
export function updateObject(
  registry: Registry,
  kind: Kind,
  location: Location,
  body: unknown,
  options: UpdateOptions = {},
): StoredObject {
  const draft = decodeDraft(kind, body, options.decoding);
  assertSameLocation(draft, location);
  const current = getObject(registry, kind, location);
  checkPreconditions(kind, draft, current);
  const deletionFields = checkDeletionTime(draft, current.metadata);
  restoreImmutableFields(kind, draft, current, options.subresource);
  kind.fillDefaults?.(draft);
  if (options.subresource === undefined) kind.prepareUpdate?.(draft, current, admissionContext(registry));
  const causes = [
    ...deletionFields,
    ...checkMetadata(kind, draft),
    ...checkMetadataUpdate(draft, current.metadata),
    ...kind.validate(draft),
    ...(kind.validateUpdate?.(draft, current) ?? []),
  ];
  if (causes.length > 0) throw invalid(kind.name, kind.resource.group, draft.metadata.name, causes);
  if (options.subresource === undefined) kind.admitUpdate?.(draft, current, admissionContext(registry));
  const { user, dryRun = false, warn = () => undefined } = options;
  if (options.subresource === undefined) admitWrite(registry, kind, { draft, current, user, warn });
  const stored = storeUpdate(registry, kind, { draft, current, dryRun });
  if (!dryRun && options.subresource === undefined) updateQuotaUsage(registry, location.namespace);
  return stored;
}

/**
 * Stores a valid draft in place of the current object, or removes the object if the draft completes its
 * deletion.
 */
function storeUpdate(
  registry: Registry,
  kind: Kind,
  { draft, current, dryRun }: { draft: MutableObject; current: StoredObject; dryRun: boolean },
): StoredObject {
  if (jsonEqual(draft, current)) return current;
  if (kind.countsGenerations && !jsonEqual(withoutStatus(kind, draft), withoutStatus(kind, current))) {
    draft.metadata.generation = (current.metadata.generation ?? 0) + 1;
  }
  if (dryRun) return draft;
  const resource = groupResource(kind.resource);
  if (canRemove(kind, draft)) return registry.store.remove(resource, draft);
  return registry.store.put(resource, draft);
}

/** Returns the content that a generation counts. */
function withoutStatus(kind: Kind, { metadata: _metadata, ...content }: StoredObject): unknown {
  const { status: _status, ...rest } = content;
  return kind.hasStatus ? rest : content;
}

function assertSameLocation({ metadata }: MutableObject, { namespace, name }: Location): void {
  if (metadata.name === '') metadata.name = name;
  if (metadata.name !== name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

function checkPreconditions(kind: Kind, { metadata }: MutableObject, current: StoredObject): void {
  const { name, uid, resourceVersion } = current.metadata;
  if (metadata.uid !== '' && metadata.uid !== uid) {
    throw conflict(
      kind.resource,
      name,
      `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`,
    );
  }
  if (metadata.resourceVersion !== '' && metadata.resourceVersion !== resourceVersion) {
    throw staleVersion(kind.resource, name);
  }
  if (metadata.resourceVersion === '' && kind.isCustomResource === true) {
    throw invalid(kind.name, kind.resource.group, name, [
      invalidValue('metadata.resourceVersion', '', 'must be specified for an update'),
    ]);
  }
}

function restoreImmutableFields(
  kind: Kind,
  draft: MutableObject,
  current: StoredObject,
  subresource: 'status' | undefined,
): void {
  const { metadata } = current;
  draft.metadata = compactMetadata({
    // For a custom resource, /status writes only status (apiextensions
    // pkg/registry/customresource/status_strategy.go).
    ...(kind.isCustomResource === true && subresource === 'status' ? copyJson(metadata) : draft.metadata),
    namespace: metadata.namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generateName: metadata.generateName,
    generation: metadata.generation,
    creationTimestamp: metadata.creationTimestamp,
    deletionTimestamp: metadata.deletionTimestamp,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds,
    ...(subresource === 'status' ? { ownerReferences: metadata.ownerReferences } : {}),
  });
  if (subresource === 'status') {
    for (const key of Object.keys(draft)) {
      if (!['metadata', 'status'].includes(key)) delete draft[key];
    }
    for (const [key, value] of Object.entries(current)) {
      if (!['metadata', 'status'].includes(key)) draft[key] = copyJson(value);
    }
  } else if (kind.hasStatus) {
    delete draft['status'];
    if (current['status'] !== undefined) draft['status'] = copyJson(current['status']);
  }
}
