import { ProductError, isProductError } from '../errors/product-error.ts';

/**
 * Runs `action` and prefixes its error with `step`, so that an error reads from the outermost step to the
 * innermost, as in bosh. The code of the innermost error is kept. Programmer errors pass unchanged.
 */
export async function withContext<T>(step: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isProductError(error)) throw error;
    throw new ProductError(error.code, step, { cause: error });
  }
}

/** Returns the messages of an error and its causes, outermost first. */
export function errorChain(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  return error.cause === undefined ? [error.message] : [error.message, ...errorChain(error.cause)];
}
