import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { namespaces } from '../../../src/kubernetes/resources.ts';
import {
  alreadyExists,
  badRequest,
  forbidden,
  groupResource,
  invalid,
  notFound,
} from '../errors/status-errors.ts';
import { admitWrite } from '../admission/admit-write.ts';
import { updateQuotaUsage } from '../admission/quota.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import { checkMetadata } from '../kinds/object-meta.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { decodeDraft } from './decode-draft.ts';
import {
  randomSuffix,
  admissionContext,
  compactMetadata,
  type Registry,
  type WriteOptions,
} from './registry.ts';

export interface CreateOptions extends WriteOptions {
  /** The namespace of the URL; undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
}

/**
 * Serves POST. Returns the object as stored. Throws ApiError 400 (body), 403 (the namespace is terminating,
 * policy, quota), 404 (no such namespace), 422 (invalid), and 409 (exists) if there is no other error
 * (apiserver pkg/registry/generic/registry/store.go create, pkg/registry/rest/create.go BeforeCreate).
 */
export function createObject(
  registry: Registry,
  kind: Kind,
  body: unknown,
  options: CreateOptions,
): StoredObject {
  const draft = decodeDraft(kind, body, options.decoding);
  resolveNamespace(kind, draft, options.namespace);
  if (draft.metadata.resourceVersion !== '') {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  if (kind.resource.namespaced) assertNamespaceActive(registry, kind, draft);
  draft.metadata = initialMetadata(registry, kind, draft);
  kind.fillDefaults?.(draft);
  kind.prepareCreate?.(draft, admissionContext(registry));
  const causes = [...checkMetadata(kind, draft), ...kind.validate(draft)];
  if (causes.length > 0) throw invalid(kind.name, kind.resource.group, draft.metadata.name, causes);
  const { user, warn = () => undefined } = options;
  kind.warningsOnCreate?.(draft).forEach(warn);
  admitWrite(registry, kind, { draft, current: undefined, user, warn });
  const resource = groupResource(kind.resource);
  const { namespace, name } = draft.metadata;
  if (registry.store.get(resource, namespace, name) !== undefined) throw alreadyExists(kind.resource, name);
  if (options.dryRun === true) return withoutVersion(draft);
  const stored = registry.store.put(resource, draft);
  updateQuotaUsage(registry, namespace);
  return stored;
}

/** Returns the object of a dry run, which has no version because it was not stored. */
function withoutVersion(draft: MutableObject): StoredObject {
  const { resourceVersion: _none, ...metadata } = draft.metadata;
  return { ...draft, metadata: metadata as StoredObject['metadata'] };
}

function resolveNamespace(kind: Kind, draft: MutableObject, namespace: string | undefined): void {
  if (!kind.resource.namespaced) {
    if ((draft.metadata.namespace ?? '') !== '') {
      throw badRequest(`namespace may not be set: ${kind.name} is not namespaced`);
    }
    delete draft.metadata.namespace;
    return;
  }
  if (namespace === undefined || namespace === '') {
    throw badRequest('an empty namespace may not be set during creation');
  }
  if ((draft.metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  draft.metadata.namespace = namespace;
}

function assertNamespaceActive(registry: Registry, kind: Kind, draft: MutableObject): void {
  const name = draft.metadata.namespace ?? '';
  const namespace = registry.store.get('namespaces', undefined, name);
  if (namespace === undefined) throw notFound(namespaces, name);
  if (namespace.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    kind.resource,
    draft.metadata.name,
    `unable to create new content in namespace ${name} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${name} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

function initialMetadata(
  registry: Registry,
  kind: Kind,
  { metadata }: MutableObject,
): MutableObject['metadata'] {
  const {
    deletionTimestamp: _time,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    ...given
  } = metadata;
  return compactMetadata({
    ...given,
    name: given.name === '' ? generatedName(registry, kind, given) : given.name,
    uid: registry.random.uuid(),
    creationTimestamp: timestamp(registry.clock.now()),
    ...(kind.countsGenerations ? { generation: 1 } : {}),
  });
}

const maxGeneratedBase = 58;
const attempts = 8;

/**
 * Returns generateName with five random characters (apiserver pkg/storage/names/generate.go). Tries another
 * name if it is taken.
 */
function generatedName(
  registry: Registry,
  kind: Kind,
  metadata: { generateName?: string; namespace?: string },
): string {
  const base = (metadata.generateName ?? '').slice(0, maxGeneratedBase);
  if (base === '') return '';
  const resource = groupResource(kind.resource);
  let name = '';
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    name = `${base}${randomSuffix(registry.random)}`;
    if (registry.store.get(resource, metadata.namespace, name) === undefined) break;
  }
  return name;
}
