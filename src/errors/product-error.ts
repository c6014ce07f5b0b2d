import type { ErrorCode } from './error-table.ts';

/**
 * The one error class for what a user can meet. Programmer errors stay plain `Error`.
 * `message` names the object, the cause and the next step, and never holds a secret.
 */
export class ProductError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ProductError';
    this.code = code;
  }
}

/** True for a ProductError, of that code when one is given; each bundle has its own copy of the class. */
export function isProductError(error: unknown, code?: ErrorCode): error is ProductError {
  return (
    error instanceof Error &&
    error.name === 'ProductError' &&
    'code' in error &&
    (code === undefined || error.code === code)
  );
}
