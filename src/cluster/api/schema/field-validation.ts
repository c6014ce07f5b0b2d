import type { ApiError } from '../../../kubernetes/api-error.ts';
import { badRequest } from '../errors/status-errors.ts';

/** What a write does about fields that its kind does not have, and about fields given twice. */
export interface FieldValidation {
  /** The query parameter `fieldValidation` (kubernetes.io: API concepts, field validation). */
  readonly directive: 'Strict' | 'Warn' | 'Ignore';
  /** Paths that the body has more than once. */
  readonly duplicates: readonly string[];
  /** The error for problems of a Strict write; absent: 400, as for a whole object. */
  readonly refuse?: (problems: readonly string[]) => ApiError;
  /** Told, under Warn, what was dropped. */
  readonly warn: (message: string) => void;
}

/** For bodies that were never text, and for whoever wants to know. */
export const strictValidation: FieldValidation = {
  directive: 'Strict',
  duplicates: [],
  warn: () => undefined,
};

export interface FieldOwner {
  readonly kind: string;
  readonly apiVersion: string;
  /** Whether a field that this server does not know would mean something to a real one. */
  readonly isKubernetesField: (path: string) => boolean;
}

/**
 * Refuses, reports or overlooks what decoding has dropped. A field that Kubernetes has and this server does not act
 * on is refused whatever the directive: accepted, it would be ignored, and its author would rely on it.
 * Throws ApiError 400.
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
