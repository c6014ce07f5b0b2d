import { forbiddenField } from '../errors/field-causes.ts';
import { invalid, methodNotAllowed, notAcceptable } from '../errors/status-errors.ts';
import { createObject } from '../registry/create.ts';
import { deleteObject, type Deletion } from '../registry/delete.ts';
import { listObjects } from '../registry/list.ts';
import { assertPatchType, patchObject } from '../registry/patch.ts';
import { getObject } from '../registry/registry.ts';
import { evaluateReview } from '../registry/review.ts';
import { updateObject } from '../registry/update.ts';
import { parseDeleteOptions } from './delete-options.ts';
import { readPatch } from './request-body.ts';
import type { RequestContext } from './request-context.ts';
import { formatList, mediaTypes, negotiate } from './response-format.ts';
import { streamWatch } from './watch-stream.ts';

/** Serves the verbs of a collection, of an object and of its /status. Throws ApiError. */
export async function serveResource(context: RequestContext): Promise<void> {
  if (context.route.kind.review !== undefined) return serveReview(context);
  if (context.route.name === undefined) await serveCollection(context);
  else await serveObject(context);
}

async function serveReview(context: RequestContext): Promise<void> {
  const { registry, route, request } = context;
  context.assertMethod('POST');
  if (route.name !== undefined) throw methodNotAllowed();
  // A review response is not a stored object, so Table and PartialObjectMetadata do not apply.
  if (negotiate(request.headers.accept) !== 'object') throw notAcceptable(['application/json']);
  const body = await context.readBody();
  const options = { namespace: route.namespace, ...context.writeOptions(body) };
  context.writeJson(201, evaluateReview(registry, route.kind, body?.value, options));
}

async function serveCollection(context: RequestContext): Promise<void> {
  const { registry, route, query, request } = context;
  switch (request.method) {
    case 'GET':
      return serveList(context);
    case 'POST': {
      context.assertAcceptable();
      const body = await context.readBody();
      const options = { namespace: route.namespace, ...context.writeOptions(body) };
      return context.writeObject(201, createObject(registry, route.kind, body?.value, options));
    }
    case 'DELETE': {
      const options = parseDeleteOptions(await context.readObject(), query);
      const list = listObjects(registry, route.kind, parseSelection(context));
      const deleted = list.items.map(({ metadata }) =>
        deleteObject(registry, route.kind, { namespace: metadata.namespace, name: metadata.name }, options),
      );
      return context.writeJson(200, { ...list, items: deleted.map(({ object }) => object) });
    }
    default:
      throw methodNotAllowed();
  }
}

async function serveList(context: RequestContext): Promise<void> {
  const { registry, route, query } = context;
  const format = context.negotiateFormat();
  assertNoInitialEvents(query);
  const selection = {
    ...parseSelection(context),
    resourceVersion: query.get('resourceVersion') ?? undefined,
  };
  if (context.hasFlag('watch')) {
    const watch = {
      ...selection,
      allowBookmarks: context.hasFlag('allowWatchBookmarks'),
      timeoutSeconds: context.integer('timeoutSeconds'),
    };
    return streamWatch(registry, format, watch, context.response);
  }
  const options = {
    ...selection,
    continue: query.get('continue') ?? undefined,
    resourceVersionMatch: query.get('resourceVersionMatch') ?? undefined,
  };
  return context.writeJson(200, formatList(format, listObjects(registry, route.kind, options)));
}

/** Throws the ApiError 422 of a server without watch lists (KEP-3157). Clients then list and watch. */
function assertNoInitialEvents(query: URLSearchParams): void {
  if (!query.has('sendInitialEvents')) return;
  const message = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  throw invalid('ListOptions', 'meta.k8s.io', '', [forbiddenField('sendInitialEvents', message)]);
}

async function serveObject(context: RequestContext): Promise<void> {
  const { registry, location, query, request } = context;
  const { kind } = context.route;
  const subresource = context.route.subresource === 'status' ? ('status' as const) : undefined;
  context.assertAcceptable();
  switch (request.method) {
    case 'GET':
      return context.writeObject(200, getObject(registry, kind, location));
    case 'PUT': {
      const body = await context.readBody();
      const options = { subresource, ...context.writeOptions(body) };
      return context.writeObject(200, updateObject(registry, kind, location, body?.value, options));
    }
    case 'PATCH': {
      const type = mediaTypes(request.headers['content-type'] ?? '')[0]?.type ?? '';
      assertPatchType(kind, type);
      const patch = await readPatch(request);
      const options = { subresource, type, ...context.writeOptions(patch) };
      return context.writeObject(200, patchObject(registry, kind, location, patch.value, options));
    }
    case 'DELETE': {
      if (subresource !== undefined) throw methodNotAllowed();
      const options = parseDeleteOptions(await context.readObject(), query);
      return writeDeleteResult(context, deleteObject(registry, kind, location, options));
    }
    default:
      throw methodNotAllowed();
  }
}

/**
 * Responds with the object for pods and for objects that still exist; otherwise with a Status "Success"
 * (DeleteReturnsDeletedObject).
 */
function writeDeleteResult(context: RequestContext, { object, removed }: Deletion): void {
  const { kind } = context.route;
  if (!removed || kind.gracePeriod !== undefined) return context.writeObject(200, object);
  const { group, plural } = kind.resource;
  return context.writeJson(200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name,
      ...(group === '' ? {} : { group }),
      kind: plural,
      uid: object.metadata.uid,
    },
  });
}

function parseSelection({ route, query }: RequestContext): {
  namespace: string | undefined;
  labelSelector: string;
  fieldSelector: string;
} {
  return {
    namespace: route.namespace,
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
  };
}
