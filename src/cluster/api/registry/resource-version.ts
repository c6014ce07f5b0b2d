import { badRequest, newStatusError } from '../errors/status-errors.ts';
import type { ObjectStore } from '../store/object-store.ts';

/** A resourceVersion of a query as a number; undefined for an empty one. Throws ApiError 400 for no number. */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: resourceVersion must be a number`);
  return Number(text);
}

/** Throws the ApiError 504 that a server gives which has not got that far (and here never will). */
export function assertReached(store: ObjectStore, revision: number): void {
  if (revision <= store.revision) return;
  throw newStatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${revision}, current: ${store.revision}`,
    {
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    },
  );
}
