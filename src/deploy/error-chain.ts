import { ProductError, isProductError } from '../errors/product-error.ts';

/**
 * Runs `action` and puts `step` in front of what it fails with, so that an error reads from the outermost step inwards
 * as bosh's do. The code of the innermost error stays; programmer errors pass unchanged.
 */
export async function withContext<T>(step: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isProductError(error)) throw error;
    throw new ProductError(error.code, step, { cause: error });
  }
}

/** The messages of an error and its causes, outermost first. */
export function errorChain(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  return error.cause === undefined ? [error.message] : [error.message, ...errorChain(error.cause)];
}
