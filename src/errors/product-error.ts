import type { ErrorCode } from './error-table.ts';

/**
 * The error class for everything that a user can get. Programming errors stay plain `Error`. `message` names
 * the object, the cause and the next step, and never contains a secret.
 */
export class ProductError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ProductError';
    this.code = code;
  }
}

/**
 * True for a ProductError, of that code if one is given. Compares by name, because each bundle has its own
 * copy of the class.
 */
export function isProductError(error: unknown, code?: ErrorCode): error is ProductError {
  return (
    error instanceof Error &&
    error.name === 'ProductError' &&
    'code' in error &&
    (code === undefined || error.code === code)
  );
}
