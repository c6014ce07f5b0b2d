import { isApiError } from './api-error.ts';

/** Returns the result of a request for one object; undefined if the object does not exist (404). */
export async function ignoreNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}
