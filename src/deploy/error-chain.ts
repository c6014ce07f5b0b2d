import { ProductError, isProductError } from '../errors/product-error.ts';

/**
 * Runs `action` and puts `step` in front of what it fails with, so that an error reads from the outermost step inwards
 * as bosh's do. The code of the innermost error stays; programmer errors pass unchanged.
 */
export async function within<T>(step: string, action: () => Promise<T>): Promise<T> {
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

/** The chain as bosh prints it: one line each, each a step further in (bosh-cli ui/fmt/error.go). */
export function formatErrorChain(error: unknown): string {
  const lines = errorChain(error);
  return lines
    .map((line, depth) => `${'  '.repeat(depth)}${line}${depth < lines.length - 1 ? ':' : ''}`)
    .join('\n');
}
