import { badRequest, methodNotAllowed } from '../errors/status-errors.ts';
import { bindPod, finalizeNamespace } from '../registry/control-plane-verbs.ts';
import { evictPod } from '../registry/evict.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, kindSchema, array, string } from '../schema/schema.ts';
import { objectReference } from '../kinds/events.ts';
import { decodeDraft } from '../registry/decode-draft.ts';
import { valueAt } from '../kinds/columns.ts';
import { writeJson } from './response.ts';
import { readObject } from './request-body.ts';
import { assertBackgroundPropagation } from './delete-options.ts';
import { isDryRun } from './query.ts';
import type { ResourceRequest } from './resource-verbs.ts';
import { requestToken } from '../tokens/request-token.ts';

const binding = kindSchema({ target: objectReference });
const eviction = kindSchema({
  deleteOptions: fields({
    apiVersion: string,
    kind: string,
    gracePeriodSeconds: integer,
    propagationPolicy: string,
    preconditions: fields({ uid: string, resourceVersion: string }),
    dryRun: array(string),
  }),
});

const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** Serves POST pods/binding. Throws ApiError. */
export async function serveBinding({
  registry,
  route,
  query,
  request,
  response,
}: ResourceRequest): Promise<void> {
  if (request.method !== 'POST') throw methodNotAllowed();
  const body = decodeObject(binding, await readObject(request), 'Binding', 'v1');
  const target = valueAt(body as never, 'target', 'name');
  const location = { namespace: route.namespace, name: route.name ?? '' };
  const dryRun = isDryRun(query.getAll('dryRun'));
  bindPod(registry, location, typeof target === 'string' ? target : '', dryRun);
  writeJson(response, 201, success);
}

/** Serves POST pods/eviction. Throws ApiError. */
export async function serveEviction({
  registry,
  route,
  query,
  request,
  response,
}: ResourceRequest): Promise<void> {
  if (request.method !== 'POST') throw methodNotAllowed();
  const body = decodeObject(eviction, await readObject(request), 'Eviction', 'policy/v1');
  const options = (body['deleteOptions'] ?? {}) as {
    readonly gracePeriodSeconds?: number;
    readonly propagationPolicy?: string;
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
    readonly dryRun?: string[];
  };
  const { dryRun, propagationPolicy, ...deletion } = options;
  assertBackgroundPropagation(propagationPolicy);
  const location = { namespace: route.namespace, name: route.name ?? '' };
  const { name = location.name } = (body['metadata'] ?? {}) as { name?: string };
  if (name !== location.name) throw badRequest('name in URL does not match name in Eviction object');
  const isDry = isDryRun(dryRun ?? []) || isDryRun(query.getAll('dryRun'));
  evictPod(registry, location, { ...deletion, dryRun: isDry });
  writeJson(response, 201, success);
}

/** Serves PUT namespaces/finalize. Throws ApiError. */
export async function serveFinalize(call: ResourceRequest): Promise<void> {
  const { registry, route, query, request } = call;
  if (request.method !== 'PUT') throw methodNotAllowed();
  const draft = decodeDraft(route.kind, await readObject(request));
  const finalizers = route.kind.ownFinalizers?.(draft) ?? [];
  if (draft.metadata.name !== route.name)
    throw badRequest('the name of the object does not match the name on the URL');
  const dryRun = isDryRun(query.getAll('dryRun'));
  writeJson(call.response, 200, finalizeNamespace(registry, draft.metadata.name, finalizers, dryRun));
}

/** Serves POST serviceaccounts/token. Throws ApiError. */
export async function serveTokenRequest({
  registry,
  route,
  request,
  response,
}: ResourceRequest): Promise<void> {
  if (request.method !== 'POST') throw methodNotAllowed();
  const location = { namespace: route.namespace, name: route.name ?? '' };
  writeJson(response, 201, requestToken(registry, location, await readObject(request)));
}
