import { truncateAtWord } from '../../errors/text.ts';
import { isSystemError, runProgram } from '../../platform/run-program.ts';

/** The end of a program. */
export interface ProgramEnd {
  /** The error text. Undefined on success. */
  readonly failure: string | undefined;
  /** The signal that ended the program, if it was not killed because of its timeout. */
  readonly signal: string | undefined;
}

const stderrLimit = 2000;

/**
 * Runs a program and kills it after `seconds`. If the kernel cannot end the killed program (dead file
 * server), returns a second later.
 */
export async function runCellProgram(
  program: string,
  args: readonly string[],
  seconds: number,
): Promise<ProgramEnd> {
  try {
    const { exitCode, killedBy, stderr, stopped } = await runProgram({
      file: program,
      args,
      environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      timeoutMs: seconds * 1000,
      endTimeoutMs: 1000,
    });
    if (stopped !== undefined && exitCode !== 0)
      return { failure: `${program} was not done after ${seconds} seconds`, signal: undefined };
    const end = killedBy === undefined ? `code ${exitCode}` : `signal ${killedBy}`;
    const failure =
      exitCode === 0
        ? undefined
        : truncateAtWord(stderr.trim(), stderrLimit) || `${program} ended with ${end}`;
    return { failure, signal: killedBy };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return { failure: error.message, signal: undefined };
  }
}
