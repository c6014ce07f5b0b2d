import type { Status } from './object.ts';

/** The request: its method, and its path below the server's URL without the query. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}

/** A response of the Kubernetes API that is a Status failure. `code` is the HTTP status. */
export class ApiError extends Error {
  readonly status: Status;
  /** Absent if no request was made: the embedded API in the same process. */
  readonly request: ApiRequest | undefined;

  constructor(status: Status, request?: ApiRequest) {
    super(status.message ?? `${status.code} ${status.reason ?? 'Unknown'}`);
    this.name = 'ApiError';
    this.status = status;
    this.request = request;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string {
    return this.status.reason ?? 'Unknown';
  }
}

/** True for an ApiError of that HTTP code (and of that reason, if two reasons share a code). */
export function isApiError(error: unknown, code?: number, reason?: string): error is ApiError {
  return (
    error instanceof ApiError &&
    (code === undefined || error.code === code) &&
    (reason === undefined || error.reason === reason)
  );
}

/**
 * True if the server does not know the resource at all: a 404 that names no object (apiserver,
 * NotFoundHandler).
 */
export function isMissingResource(error: unknown): boolean {
  return isApiError(error, 404) && (error.status.details?.name ?? '') === '';
}
