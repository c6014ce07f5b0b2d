import { ProductError } from '../../errors/product-error.ts';

/**
 * Whatever an interruption broke, the operator is told that it was the interruption: INTERRUPTED, with what came of it
 * (`result`) and what to do (`next`).
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
