import { ProductError } from '../../errors/product-error.ts';
import { runDemo } from './run-demo.ts';
import type { DemoPorts } from './run-demo.ts';

/** Runs `volumes demo`, which takes no arguments. */
export async function runDemoCommand(words: readonly string[], ports: DemoPorts): Promise<number> {
  if (words.length > 0)
    throw new ProductError('INVALID_ARGUMENT', 'volumes demo takes no arguments; leave them out');
  return runDemo({ out: ports.out, signal: ports.signal });
}
