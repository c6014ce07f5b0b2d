import { methodNotAllowed } from '../errors/status-errors.ts';
import { requestToken } from '../tokens/request-token.ts';
import { answerJson } from './answer.ts';
import { readObject } from './body.ts';
import type { ResourceRequest } from './resource-verbs.ts';

/** POST serviceaccounts/token. Throws ApiError. */
export async function serveToken({ registry, route, request, response }: ResourceRequest): Promise<void> {
  if (request.method !== 'POST') throw methodNotAllowed();
  const location = { namespace: route.namespace, name: route.name ?? '' };
  answerJson(response, 201, requestToken(registry, location, await readObject(request)));
}
