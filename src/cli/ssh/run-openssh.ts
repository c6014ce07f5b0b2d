import { spawn, type StdioOptions } from 'node:child_process';
import { constants } from 'node:os';
import { ProductError } from '../../errors/product-error.ts';

export interface OpensshRun {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends the program when it is aborted. */
  readonly signal: AbortSignal;
  /** Receives stdout instead of this process's stdout. stdin is then empty. */
  readonly onOutput?: ((text: string) => void) | undefined;
  /** Receives the lines of stderr, which a VM can write to. If absent, stderr is inherited. */
  readonly onMessage?: ((line: string) => void) | undefined;
}

/**
 * Runs a program of OpenSSH on this process's streams. Returns its exit code, or 128 plus the number of the
 * signal that ended it. Rejects with SSH_FAILED if the program is not installed.
 */
export function runOpenssh(file: string, words: readonly string[], run: OpensshRun): Promise<number> {
  const { environment, signal, onOutput, onMessage } = run;
  return new Promise((resolve, reject) => {
    const stdio: StdioOptions = [
      ...(onOutput === undefined ? (['inherit', 'inherit'] as const) : (['ignore', 'pipe'] as const)),
      onMessage === undefined ? 'inherit' : 'pipe',
    ];
    const child = spawn(file, words, { env: environment, stdio });
    const stop = (): void => void child.kill('SIGTERM');
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    if (onOutput !== undefined) child.stdout?.setEncoding('utf8').on('data', onOutput);
    if (onMessage !== undefined)
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) if (line.trim() !== '') onMessage(line.trimEnd());
      });
    child.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      const missing = `There is no '${file}' on PATH: install OpenSSH's client (Debian: openssh-client)`;
      reject(error.code === 'ENOENT' ? new ProductError('SSH_FAILED', missing) : error);
    });
    child.once('close', (code, name) => {
      signal.removeEventListener('abort', stop);
      resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
    });
  });
}
