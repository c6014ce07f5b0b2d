import { ProductError } from '../../errors/product-error.ts';

/** Throws INTERRUPTED after the operator's signal has been aborted. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new ProductError('INTERRUPTED', 'The release was not packed, because the command was interrupted; run it again');
}
