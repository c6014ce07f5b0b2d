import type { Status } from './object.ts';

/** An answer of the Kubernetes API that is a Status failure. `code` is the HTTP status. */
export class ApiError extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? `${status.code} ${status.reason ?? 'Unknown'}`);
    this.name = 'ApiError';
    this.status = status;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string {
    return this.status.reason ?? 'Unknown';
  }
}

/** True for an ApiError of that HTTP code (and that reason, where two reasons share a code). */
export function isApiError(error: unknown, code?: number, reason?: string): error is ApiError {
  return (
    error instanceof ApiError &&
    (code === undefined || error.code === code) &&
    (reason === undefined || error.reason === reason)
  );
}

/** True where the server does not know the resource at all: a 404 that names no object (apiserver, NotFoundHandler). */
export function isMissingResource(error: unknown): boolean {
  return isApiError(error, 404) && (error.status.details?.name ?? '') === '';
}
