import { ProductError } from '../../errors/product-error.ts';

/**
 * Replaces any error after an interrupt by INTERRUPTED, with the outcome (`result`) and the next step
 * (`next`).
 */
export async function interruptible<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  { result, next }: { readonly result: string; readonly next: string },
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!signal.aborted) throw error;
    const reason = signal.reason instanceof Error ? signal.reason.message : 'interrupted';
    throw new ProductError('INTERRUPTED', `${result}: ${reason}; ${next}`, { cause: error });
  }
}
