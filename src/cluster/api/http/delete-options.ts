import type { DeleteObjectOptions } from '../registry/delete.ts';
import { badRequest } from '../errors/status-errors.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, listOf, text } from '../schema/schema.ts';
import { integerParameter, isDryRun } from './query.ts';

const schema = fields({
  apiVersion: text,
  kind: text,
  gracePeriodSeconds: integer,
  propagationPolicy: text,
  preconditions: fields({ uid: text, resourceVersion: text }),
  dryRun: listOf(text),
});

/** DeleteOptions from the body, or, where there is none, from the query. Throws ApiError 400 and 422. */
export function parseDeleteOptions(body: unknown, query: URLSearchParams): DeleteObjectOptions {
  if (query.has('orphanDependents'))
    throw badRequest('orphanDependents is not served; use propagationPolicy');
  const inBody = body === undefined ? {} : decodeObject(schema, body, 'DeleteOptions', 'meta.k8s.io/v1');
  const grace = inBody['gracePeriodSeconds'] ?? integerParameter(query, 'gracePeriodSeconds');
  const policy = inBody['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  const dryRun = (inBody['dryRun'] as string[] | undefined) ?? query.getAll('dryRun');
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace as number }),
    ...(policy === undefined || policy === ''
      ? {}
      : { propagationPolicy: policy as NonNullable<DeleteObjectOptions['propagationPolicy']> }),
    ...(inBody['preconditions'] === undefined
      ? {}
      : { preconditions: inBody['preconditions'] as NonNullable<DeleteObjectOptions['preconditions']> }),
    dryRun: isDryRun(dryRun),
  };
}
