import type { ErrorCode } from '../errors/error-table.ts';
import { ProductError } from '../errors/product-error.ts';

/** Returns the error after every attempt met a write conflict. `what` names the object. */
export const conflictError = (code: ErrorCode, what: string): ProductError =>
  new ProductError(code, `${what} is changed by others again and again; run the call again`);
