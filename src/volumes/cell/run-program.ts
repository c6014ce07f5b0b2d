import { spawn } from 'node:child_process';

/** The end of a program. */
export interface ProgramEnd {
  /** The error text. Undefined on success. */
  readonly failure: string | undefined;
  /** The signal that ended the program, if it was not killed because of its timeout. */
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs a program and kills it after `seconds`. If the killed program is stuck in the kernel (dead file
 * server), returns without waiting for its end.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  seconds: number,
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      detached: true,
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < 2000) stderr += chunk.toString();
    });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      child.stderr.destroy();
      resolve({ failure: `${program} did not finish within ${seconds} seconds`, signal: null });
    }, seconds * 1000);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve({ failure: error.message, signal: null });
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const end = signal === null ? `code ${code}` : `signal ${signal}`;
      const failure = code === 0 ? undefined : stderr.trim() || `${program} ended with ${end}`;
      resolve({ failure, signal });
    });
  });
}
