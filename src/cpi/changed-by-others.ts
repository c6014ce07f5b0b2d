import type { ErrorCode } from '../errors/error-table.ts';
import { ProductError } from '../errors/product-error.ts';

/** The error of a call that met another writer at each of its tries; `what` is the object. */
export const conflictError = (code: ErrorCode, what: string): ProductError =>
  new ProductError(code, `${what} is changed by others again and again; run the call again`);
