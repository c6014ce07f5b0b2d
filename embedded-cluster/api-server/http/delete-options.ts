import type { DeleteObjectOptions } from '../registry/delete.ts';
import { badRequest } from '../errors/status-errors.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, array, string } from '../schema/schema.ts';
import { integerParameter, isDryRun } from './query.ts';

const schema = fields({
  apiVersion: string,
  kind: string,
  gracePeriodSeconds: integer,
  propagationPolicy: string,
  preconditions: fields({ uid: string, resourceVersion: string }),
  dryRun: array(string),
});

/**
 * Reads DeleteOptions from the body; options that the body does not set are read from the query. Throws
 * ApiError 400 and 422.
 */
export function parseDeleteOptions(body: unknown, query: URLSearchParams): DeleteObjectOptions {
  if (query.has('orphanDependents'))
    throw badRequest(
      'orphanDependents is not served: dependents go after their owner (embedded-cluster/README.md)',
    );
  const inBody = body === undefined ? {} : decodeObject(schema, body, 'DeleteOptions', 'meta.k8s.io/v1');
  const grace = inBody['gracePeriodSeconds'] ?? integerParameter(query, 'gracePeriodSeconds');
  assertBackgroundPropagation(inBody['propagationPolicy'] ?? query.get('propagationPolicy') ?? '');
  const dryRun = (inBody['dryRun'] as string[] | undefined) ?? query.getAll('dryRun');
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace as number }),
    ...(inBody['preconditions'] === undefined
      ? {}
      : { preconditions: inBody['preconditions'] as NonNullable<DeleteObjectOptions['preconditions']> }),
    dryRun: isDryRun(dryRun),
  };
}

/**
 * Throws ApiError 400 for a propagation policy that this server does not support: a client that requests
 * Foreground or Orphan must not find its dependents deleted in another way.
 */
export function assertBackgroundPropagation(policy: unknown): void {
  if (policy === undefined || policy === '' || policy === 'Background') return;
  throw badRequest(
    `propagationPolicy ${JSON.stringify(policy)} is not served: the embedded cluster deletes dependents in the background only (embedded-cluster/README.md)`,
  );
}
