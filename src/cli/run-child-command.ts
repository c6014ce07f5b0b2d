import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { ProductError } from '../errors/product-error.ts';

export interface ChildOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by a signal to this process. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command of the operator on this terminal and returns its exit code. Like a shell, returns 128 plus
 * the signal's number if a signal ended it. Ctrl-C reaches the command through the terminal; SIGTERM is
 * forwarded.
 */
export async function runChildCommand(
  [file = '', ...args]: readonly string[],
  { environment, signal }: ChildOptions,
): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit', env: environment });
  const forward = (): void => {
    const isKeystroke = signal.reason instanceof Error && signal.reason.message.endsWith('SIGINT');
    if (!isKeystroke) child.kill('SIGTERM');
  };
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new ProductError('FILE_NOT_FOUND', `Command '${file}' cannot be run; correct it, or install it`, {
      cause: error,
    });
  }
  signal.addEventListener('abort', forward);
  if (signal.aborted) forward();
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  signal.removeEventListener('abort', forward);
  return code ?? 128 + (killedBy === null ? 0 : constants.signals[killedBy]);
}
