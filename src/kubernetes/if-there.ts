import { isApiError } from './api-error.ts';

/** What a request for one object resolves with; undefined where the object is not there (404). */
export async function ignoreNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}
