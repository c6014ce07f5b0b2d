import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { badRequest } from '../errors/status-errors.ts';

/** How a write treats fields that its kind does not have, and duplicate fields. */
export interface FieldValidation {
  /** The query parameter `fieldValidation` (kubernetes.io: API concepts, field validation). */
  readonly directive: 'Strict' | 'Warn' | 'Ignore';
  /** Paths that the body contains more than once. */
  readonly duplicates: readonly string[];
  /** Returns the error for the problems of a Strict write. Absent: 400, as for a whole object. */
  readonly refuse?: (problems: readonly string[]) => ApiError;
  /** Called under Warn with each field that was dropped. */
  readonly warn: (message: string) => void;
}

/** For bodies that were never text, and for callers that need an error for every problem. */
export const strictValidation: FieldValidation = {
  directive: 'Strict',
  duplicates: [],
  warn: () => undefined,
};

export interface FieldOwner {
  readonly kind: string;
  readonly apiVersion: string;
  /** Returns true if a real server would know the field, which this server does not. */
  readonly isKubernetesField: (path: string) => boolean;
}

/**
 * Rejects, reports or ignores the fields that decoding has dropped. A field that Kubernetes has and this
 * server does not support is rejected under every directive: if it were accepted and ignored, its author
 * would rely on it. Throws ApiError 400.
 */
export function validateUnknownFields(
  { kind, apiVersion, isKubernetesField }: FieldOwner,
  unknown: readonly string[],
  { directive, duplicates, warn, refuse }: FieldValidation,
): void {
  const problems = [
    ...unknown.map((path) => `unknown field "${path}"`),
    ...duplicates.map((path) => `duplicate field "${path}"`),
  ];
  if (directive === 'Strict' && problems.length > 0) {
    throw refuse?.(problems) ?? strictDecodingError(kind, apiVersion, problems);
  }
  const relied = unknown.filter(isKubernetesField);
  if (relied.length > 0) {
    throw strictDecodingError(
      kind,
      apiVersion,
      relied.map((path) => `unknown field "${path}"`),
    );
  }
  if (directive === 'Warn') problems.forEach(warn);
}

function strictDecodingError(kind: string, apiVersion: string, problems: readonly string[]): ApiError {
  return badRequest(
    `${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')} (the embedded cluster accepts only fields that it implements)`,
  );
}
