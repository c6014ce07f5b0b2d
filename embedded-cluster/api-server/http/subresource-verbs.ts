import { badRequest } from '../errors/status-errors.ts';
import { bindPod, finalizeNamespace } from '../registry/control-plane-verbs.ts';
import { evictPod } from '../registry/evict.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, kindSchema, array, string } from '../schema/schema.ts';
import { objectReference } from '../kinds/events.ts';
import { decodeDraft } from '../registry/decode-draft.ts';
import { valueAt } from '../kinds/columns.ts';
import { assertBackgroundPropagation } from './delete-options.ts';
import { isDryRun } from './query.ts';
import type { RequestContext } from './request-context.ts';
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
export async function serveBinding(context: RequestContext): Promise<void> {
  context.assertMethod('POST');
  const body = decodeObject(binding, await context.readObject(), 'Binding', 'v1');
  const target = valueAt(body as never, 'target', 'name');
  const { registry, location } = context;
  const dryRun = context.isDryRun;
  bindPod(registry, location, typeof target === 'string' ? target : '', dryRun);
  context.writeJson(201, success);
}

/** Serves POST pods/eviction. Throws ApiError. */
export async function serveEviction(context: RequestContext): Promise<void> {
  context.assertMethod('POST');
  const body = decodeObject(eviction, await context.readObject(), 'Eviction', 'policy/v1');
  const options = (body['deleteOptions'] ?? {}) as {
    readonly gracePeriodSeconds?: number;
    readonly propagationPolicy?: string;
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
    readonly dryRun?: string[];
  };
  const { dryRun, propagationPolicy, ...deletion } = options;
  assertBackgroundPropagation(propagationPolicy);
  const { registry, location } = context;
  const { name = location.name } = (body['metadata'] ?? {}) as { name?: string };
  if (name !== location.name) throw badRequest('name in URL does not match name in Eviction object');
  const isDry = isDryRun(dryRun ?? []) || context.isDryRun;
  evictPod(registry, location, { ...deletion, dryRun: isDry });
  context.writeJson(201, success);
}

/** Serves PUT namespaces/finalize. Throws ApiError. */
export async function serveFinalize(context: RequestContext): Promise<void> {
  const { registry, route } = context;
  context.assertMethod('PUT');
  const draft = decodeDraft(route.kind, await context.readObject());
  const finalizers = route.kind.ownFinalizers?.(draft) ?? [];
  if (draft.metadata.name !== route.name)
    throw badRequest('the name of the object does not match the name on the URL');
  const dryRun = context.isDryRun;
  context.writeJson(200, finalizeNamespace(registry, draft.metadata.name, finalizers, dryRun));
}

/** Serves POST serviceaccounts/token. Throws ApiError. */
export async function serveTokenRequest(context: RequestContext): Promise<void> {
  context.assertMethod('POST');
  const { registry, location } = context;
  context.writeJson(201, requestToken(registry, location, await context.readObject()));
}
