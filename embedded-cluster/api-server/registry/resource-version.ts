import { badRequest, newStatusError } from '../errors/status-errors.ts';
import type { ObjectStore } from '../store/object-store.ts';

/**
 * Parses the resourceVersion of a query; returns undefined if it is empty. Throws ApiError 400 if it is not a
 * number.
 */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: resourceVersion must be a number`);
  return Number(text);
}

/** Throws the ApiError 504 of a server that has not reached that version (this server never will). */
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
