import type { IncomingMessage, ServerResponse } from 'node:http';
import { forbiddenField } from '../errors/field-causes.ts';
import { badRequest, invalid, methodNotAllowed, notAcceptable } from '../errors/status-errors.ts';
import { createObject } from '../registry/create.ts';
import { deleteObject, type Deletion } from '../registry/delete.ts';
import { listObjects } from '../registry/list.ts';
import type { User } from '../access/user.ts';
import { evaluateReview } from '../registry/review.ts';
import { assertPatchType, patchObject } from '../registry/patch.ts';
import { getObject, type Location, type Registry, type WriteOptions } from '../registry/registry.ts';
import { updateObject } from '../registry/update.ts';
import type { ParsedJson } from '../schema/parse-json.ts';
import { addWarning, writeJson } from './response.ts';
import { readBody, readObject, readPatch } from './request-body.ts';
import { parseDeleteOptions } from './delete-options.ts';
import {
  mediaTypes,
  negotiate,
  formatList,
  formatObject,
  type ResponseFormat,
  type IncludeObject,
} from './response-format.ts';
import { booleanParameter, integerParameter, isDryRun } from './query.ts';
import type { ResourceRoute } from './resource-route.ts';
import { streamWatch } from './watch-stream.ts';

/** One request for objects of a kind. */
export interface ResourceRequest {
  readonly registry: Registry;
  readonly route: ResourceRoute;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly user: User;
}

/** Serves the verbs of a collection, of an object and of its /status. Throws ApiError. */
export async function serveResource(call: ResourceRequest): Promise<void> {
  if (call.route.kind.review !== undefined) return serveReview(call);
  if (call.route.name === undefined) await serveCollection(call);
  else await serveObject(call, { namespace: call.route.namespace, name: call.route.name });
}

async function serveReview(call: ResourceRequest): Promise<void> {
  const { registry, route, request, response } = call;
  if (request.method !== 'POST' || route.name !== undefined) throw methodNotAllowed();
  // A review response is not a stored object, so Table and PartialObjectMetadata do not apply.
  if (negotiate(request.headers.accept) !== 'object') throw notAcceptable(['application/json']);
  const body = await readBody(request);
  const options = { namespace: route.namespace, ...writeOptions(call, body) };
  writeJson(response, 201, evaluateReview(registry, route.kind, body?.value, options));
}

async function serveCollection(call: ResourceRequest): Promise<void> {
  const { registry, route, query, request, response } = call;
  switch (request.method) {
    case 'GET':
      return serveList(call);
    case 'POST': {
      const body = await readBody(request);
      const options = { namespace: route.namespace, ...writeOptions(call, body) };
      const created = createObject(registry, route.kind, body?.value, options);
      return writeJson(response, 201, formatObject(negotiateFormat(call), created));
    }
    case 'DELETE': {
      const options = parseDeleteOptions(await readObject(request), query);
      const list = listObjects(registry, route.kind, parseSelection(call));
      const deleted = list.items.map(({ metadata }) =>
        deleteObject(registry, route.kind, { namespace: metadata.namespace, name: metadata.name }, options),
      );
      return writeJson(response, 200, { ...list, items: deleted.map(({ object }) => object) });
    }
    default:
      throw methodNotAllowed();
  }
}

async function serveList(call: ResourceRequest): Promise<void> {
  const { registry, route, query, response } = call;
  const format = negotiateFormat(call);
  assertNoInitialEvents(query);
  const selection = { ...parseSelection(call), resourceVersion: query.get('resourceVersion') ?? undefined };
  if (booleanParameter(query, 'watch') === true) {
    const watch = {
      ...selection,
      allowBookmarks: booleanParameter(query, 'allowWatchBookmarks') === true,
      timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
    };
    return streamWatch(registry, format, watch, response);
  }
  const options = {
    ...selection,
    continue: query.get('continue') ?? undefined,
    resourceVersionMatch: query.get('resourceVersionMatch') ?? undefined,
  };
  return writeJson(response, 200, formatList(format, listObjects(registry, route.kind, options)));
}

/** Throws the ApiError 422 of a server without watch lists (KEP-3157). Clients then list and watch. */
function assertNoInitialEvents(query: URLSearchParams): void {
  if (!query.has('sendInitialEvents')) return;
  const message = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  throw invalid('ListOptions', 'meta.k8s.io', '', [forbiddenField('sendInitialEvents', message)]);
}

async function serveObject(call: ResourceRequest, location: Location): Promise<void> {
  const { registry, route, query, request, response } = call;
  const subresource = route.subresource === 'status' ? ('status' as const) : undefined;
  const format = negotiateFormat(call);
  const send = (object: Parameters<typeof formatObject>[1]): void =>
    writeJson(response, 200, formatObject(format, object));
  switch (request.method) {
    case 'GET':
      return send(getObject(registry, route.kind, location));
    case 'PUT': {
      const body = await readBody(request);
      const options = { subresource, ...writeOptions(call, body) };
      return send(updateObject(registry, route.kind, location, body?.value, options));
    }
    case 'PATCH': {
      const type = mediaTypes(request.headers['content-type'] ?? '')[0]?.type ?? '';
      assertPatchType(route.kind, type);
      const patch = await readPatch(request);
      const options = { subresource, type, ...writeOptions(call, patch) };
      return send(patchObject(registry, route.kind, location, patch.value, options));
    }
    case 'DELETE': {
      if (subresource !== undefined) throw methodNotAllowed();
      const options = parseDeleteOptions(await readObject(request), query);
      return writeDeleteResult(call, deleteObject(registry, route.kind, location, options));
    }
    default:
      throw methodNotAllowed();
  }
}

/**
 * Returns the object for pods and for objects that still exist; otherwise a Status "Success"
 * (DeleteReturnsDeletedObject).
 */
function writeDeleteResult(call: ResourceRequest, { object, removed }: Deletion): void {
  const { kind } = call.route;
  if (!removed || kind.gracePeriod !== undefined) {
    return writeJson(call.response, 200, formatObject(negotiateFormat(call), object));
  }
  const { group, plural } = kind.resource;
  return writeJson(call.response, 200, {
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

/** Reads the options of a write from the query. Warnings are added to the response. */
function writeOptions(
  { query, response, user }: ResourceRequest,
  body: ParsedJson | undefined,
): WriteOptions & { readonly user: User } {
  return {
    dryRun: isDryRun(query.getAll('dryRun')),
    user,
    decoding: { duplicates: body?.duplicates ?? [] },
    warn: (message) => addWarning(response, message),
  };
}

function negotiateFormat({ registry, route, query, request }: ResourceRequest): ResponseFormat {
  return {
    kind: route.kind,
    representation: negotiate(request.headers.accept),
    includeObject: includeObject(query),
    now: () => registry.clock.now(),
  };
}

/** Reads which part of the object a row of a table carries. Throws ApiError 400. */
function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(
    `unrecognized value for includeObject: ${JSON.stringify(value)}; supported are None, Metadata and Object`,
  );
}

function parseSelection({ route, query }: ResourceRequest): {
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
