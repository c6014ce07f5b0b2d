import type { Clock } from '../clock.ts';
import type { ProgramExit, ProgramRequest, Programs } from './program.ts';

const graceMilliseconds = 10_000;

/**
 * Runs a program to its end and returns how it ended. When `signal` aborts, its process group gets SIGTERM
 * and, ten seconds later, SIGKILL.
 */
export async function runProgram(
  ports: { readonly programs: Programs; readonly clock: Clock },
  request: ProgramRequest,
  signal: AbortSignal,
): Promise<ProgramExit> {
  const program = ports.programs.start(request);
  const ended = new AbortController();
  const cancel = (): void => {
    program.signal('SIGTERM');
    void ports.clock.sleep(graceMilliseconds, ended.signal).then(() => program.signal('SIGKILL'));
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await program.exit;
  } finally {
    ended.abort();
    signal.removeEventListener('abort', cancel);
  }
}
