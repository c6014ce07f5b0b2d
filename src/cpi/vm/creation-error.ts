import { notAllRemoved, type ErrorCode } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { isApiError, isMissingResource } from '../../kubernetes/api-error.ts';
import { explainApiError } from '../failure/explain-api-error.ts';

export interface FailedVm {
  readonly cid: string;
  readonly namespace: string;
}

const passThrough: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'INVALID_CONFIG',
  'NOT_SUPPORTED',
  'NOT_IMPLEMENTED',
  'VM_CREATION_FAILED',
]);

/** Errors that may be transient; in a full quota, for example, room may be made. */
const retryable: ReadonlySet<ErrorCode> = new Set([
  'VM_CREATION_FAILED_RETRY',
  'DEADLINE',
  'KUBERNETES_UNREACHABLE',
  'KUBERNETES_API',
  'KUBERNETES_BUSY',
  'KUBERNETES_CONFLICT',
  'QUOTA_EXCEEDED',
  'NO_DISK_SPACE',
]);

/**
 * Returns the error of a create_vm that failed with `error`; `cleanupError` is why what it created could not
 * be removed. Errors that are bugs of the CPI are returned as they are.
 */
export function creationError({ cid, namespace }: FailedVm, error: unknown, cleanupError: unknown): unknown {
  const known = isApiError(error) ? explainApiError(error) : error;
  if (!isProductError(known)) return error;
  const rest = cleanupError instanceof Error ? `; ${notAllRemoved}: ${cleanupError.message}` : '';
  const message = `VM '${cid}' in namespace ${namespace} could not be created: ${known.message}${rest}`;
  const code =
    retryable.has(known.code) || wasDeleted(error) ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED';
  return new ProductError(code, message, { cause: error });
}

/**
 * Returns the error of a create_vm that failed before it created anything. Errors about a request that this
 * cluster cannot meet keep their code.
 */
export function preparationError(vm: FailedVm, error: unknown): unknown {
  return isProductError(error) && passThrough.has(error.code) ? error : creationError(vm, error, undefined);
}

/**
 * True if an object that existed a moment ago was deleted. A namespace or a kind that is missing does not
 * count, because another attempt does not create it.
 */
const wasDeleted = (error: unknown): boolean =>
  isApiError(error, 404) && !isMissingResource(error) && error.status.details?.kind !== 'namespaces';
