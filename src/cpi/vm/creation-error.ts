import { isProductError, ProductError } from '../../errors/product-error.ts';
import type { ApiError } from '../../kubernetes/api-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';

/**
 * The error of a create_vm that failed with `error`; `leftover` is why its traces could not be removed, if so.
 * Faults of ours pass through as they are.
 */
export function creationError(cid: string, error: unknown, leftover: unknown): unknown {
  if (!isApiError(error) && !isProductError(error)) return error;
  const rest =
    leftover instanceof Error ? `; not everything of it could be removed: ${leftover.message}` : '';
  const message = `VM '${cid}' could not be created: ${error.message}${rest}`;
  const code = mayPass(error) ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED';
  return new ProductError(code, message, { cause: error });
}

function mayPass(error: ApiError | ProductError): boolean {
  if (isProductError(error))
    return ['VM_CREATION_FAILED_RETRY', 'DEADLINE', 'KUBERNETES_UNREACHABLE'].includes(error.code);
  // a quota is a 403 too, and room may be made (kubernetes: plugin/pkg/admission/resourcequota)
  return (
    error.code === 409 || error.code === 429 || error.code >= 500 || error.message.includes('exceeded quota')
  );
}
