import { methodNotAllowed } from '../errors/status-errors.ts';
import { requestToken } from '../tokens/request-token.ts';
import { writeJson } from './answer.ts';
import { readObject } from './body.ts';
import type { ResourceRequest } from './resource-verbs.ts';

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
