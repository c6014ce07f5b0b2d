import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PodConsole } from '../../node/pod-console.ts';
import { badRequest, pathNotFound } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { authorize } from '../access/authorize.ts';
import type { User } from '../access/user.ts';
import { authenticate } from './authenticate.ts';
import { serveLog } from './pod-log.ts';
import { serveBinding, serveEviction, serveFinalize, serveTokenRequest } from './subresource-verbs.ts';
import { booleanParameter, checkTimeout } from './query.ts';
import { RequestContext } from './request-context.ts';
import { requestAttributes } from './request-attributes.ts';
import { parseResourceRoute } from './resource-route.ts';
import { serveResource } from './resource-verbs.ts';
import { publicPaths, serveDiscovery } from './server-info.ts';

export interface ServerContext {
  readonly registry: Registry;
  readonly console: PodConsole;
  /** The administrator's bearer token. */
  readonly token: string;
}

/** Serves one request, from its URL to its response. Throws ApiError. */
export async function handleRequest(
  served: ServerContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams: query } = parseUrl(request);
  // A watch has a timeout parameter of its own.
  if (booleanParameter(query, 'watch') !== true) checkTimeout(query);
  const user = authenticateAndAuthorize(served, request, { path: pathname, query });
  if (serveDiscovery(served.registry, pathname, request, response)) return;
  const route = parseResourceRoute(served.registry, pathname);
  const context = new RequestContext({ ...served, user, route, query, request, response });
  switch (subresourceOf(route.kind.name, route.subresource)) {
    case 'object':
      return serveResource(context);
    case 'status':
      if (!route.kind.hasStatus) throw pathNotFound();
      return serveResource(context);
    case 'log':
      return serveLog(context);
    case 'binding':
      return serveBinding(context);
    case 'eviction':
      return serveEviction(context);
    case 'finalize':
      return serveFinalize(context);
    case 'token':
      return serveTokenRequest(context);
    case 'exec':
      throw badRequest('Upgrade request required: exec is served over WebSocket');
  }
}

const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Returns the user of a request that is allowed. Throws ApiError 401 and 403. */
export function authenticateAndAuthorize(
  { registry, token }: ServerContext,
  request: IncomingMessage,
  { path, query }: { path: string; query: URLSearchParams },
): User {
  if (publicPaths.has(path)) return anonymousUser;
  const user = authenticate(registry, request, token);
  authorize(registry, user, requestAttributes({ method: request.method ?? 'GET', path, query }));
  return user;
}

type Subresource = 'object' | 'status' | 'log' | 'binding' | 'eviction' | 'finalize' | 'exec' | 'token';

const subresources: Readonly<Record<string, Subresource>> = {
  'Pod/log': 'log',
  'Pod/exec': 'exec',
  'Pod/binding': 'binding',
  'Pod/eviction': 'eviction',
  'Namespace/finalize': 'finalize',
  'ServiceAccount/token': 'token',
};

function subresourceOf(kind: string, name: string | undefined): Subresource {
  if (name === undefined) return 'object';
  if (name === 'status') return name;
  const found = subresources[`${kind}/${name}`];
  if (found === undefined) throw pathNotFound();
  return found;
}

/** Parses the URL of a request. Throws ApiError 400 if it is not valid. */
export function parseUrl(request: IncomingMessage): URL {
  const url = URL.parse(request.url ?? '/', 'https://localhost');
  if (url === null) throw badRequest('the URL of the request cannot be parsed');
  return url;
}
