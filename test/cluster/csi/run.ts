import { run as runProgram } from '../../support/run.ts';

/** The error of a program with an exit code other than 0. */
export class ProgramError extends Error {
  readonly code: number;
  readonly stderr: string;

  constructor(command: string, code: number, stderr: string) {
    super(`${command}: ${stderr.trim() || `ended with ${code}`}`);
    this.name = 'ProgramError';
    this.code = code;
    this.stderr = stderr;
  }
}

const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * Runs a program without a shell. Returns its output. Rejects with ProgramError if its exit code is not 0.
 */
export async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram([program, ...args], { env, timeoutMs: 120_000 });
  if (exitCode !== 0) throw new ProgramError(`${program} ${args.join(' ')}`, exitCode, stderr);
  return stdout;
}
