import { ProductError } from './product-error.ts';

/** Throws INTERRUPTED if the operator's signal is aborted. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new ProductError(
    'INTERRUPTED',
    "Stopped at the operator's request; run the same command again to continue",
  );
}
