import { ProductError } from '../errors/product-error.ts';
import type { CommandContext } from './command.ts';

/**
 * One Ctrl-C may arrive twice, from the terminal and from the launcher (bin/run-main.mjs). A signal
 * within this many milliseconds of the first one is ignored.
 */
const sameKeystroke = 500;

export interface InterruptionOptions {
  readonly process: Pick<NodeJS.Process, 'on' | 'pid' | 'kill' | 'removeAllListeners' | 'channel'>;
  readonly now: () => number;
}

/**
 * Returns a controller that the first SIGINT, SIGTERM or SIGHUP aborts, so that the command ends at its next
 * safe point. A later SIGINT or SIGTERM ends the process at once, as without a handler, even if a system call
 * does not return. If the launcher (bin/run-main.mjs) is killed, that counts as the first signal.
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
  process.on('disconnect', () => {
    first ??= now();
    interrupted.abort(new Error('interrupted by the end of its launcher'));
  });
  // The listener would keep the process alive.
  process.channel?.unref();
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
    const cause = error === signal.reason ? {} : { cause: error };
    throw new ProductError('INTERRUPTED', `${result}: ${reason}; ${next}`, cause);
  }
}

/**
 * Runs work that the first interrupt does not end, because half of it is worth nothing. After that interrupt
 * the operator reads that it continues (`work`), and how to go on (`next`) if a second one ends the process.
 */
export async function uninterrupted<Result>(
  action: () => Promise<Result>,
  { signal, terminal }: Pick<CommandContext, 'signal' | 'terminal'>,
  { work, next }: { readonly work: string; readonly next: string },
): Promise<Result> {
  const announce = (): void =>
    terminal.error(`${work}. A second Ctrl-C ends this command at once; then ${next}`);
  signal.addEventListener('abort', announce, { once: true });
  try {
    return await action();
  } finally {
    signal.removeEventListener('abort', announce);
  }
}
