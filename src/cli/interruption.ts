import { ProductError } from '../errors/product-error.ts';

/**
 * One Ctrl-C may arrive twice, from the terminal and from the launcher (bin/bosh-kubernetes.mjs). A signal
 * within this many milliseconds of the first one is ignored.
 */
const sameKeystroke = 500;

export interface InterruptionOptions {
  readonly process: Pick<NodeJS.Process, 'on' | 'pid' | 'kill' | 'removeAllListeners'>;
  readonly now: () => number;
}

/**
 * Returns a controller that the first SIGINT, SIGTERM or SIGHUP aborts, so that the command ends at its next
 * safe point. A later SIGINT or SIGTERM ends the process at once, as without a handler, even if a system call
 * does not return.
 */
export function interruption({ process, now }: InterruptionOptions): AbortController {
  const interrupted = new AbortController();
  let first: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      first ??= now();
      interrupted.abort(new Error(`interrupted by ${signal}`));
      // A terminal that closes sends SIGHUP more than once.
      if (signal === 'SIGHUP' || now() - first < sameKeystroke) return;
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  return interrupted;
}

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
