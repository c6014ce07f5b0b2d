import { execFile } from 'node:child_process';

/** The error of a program with an exit code other than 0. */
export class ProgramError extends Error {
  readonly code: number | undefined;
  readonly stderr: string;

  constructor(command: string, code: number | undefined, stderr: string) {
    super(`${command}: ${stderr.trim() || `ended with ${String(code)}`}`);
    this.name = 'ProgramError';
    this.code = code;
    this.stderr = stderr;
  }
}

const deadlineMs = 120_000;

/** Runs a program without a shell. Returns its output. Rejects with ProgramError if it fails. */
export function run(program: string, ...args: readonly string[]): Promise<string> {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], { env, timeout: deadlineMs }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
        return;
      }
      const code = typeof error.code === 'number' ? error.code : undefined;
      reject(new ProgramError(`${program} ${args.join(' ')}`, code, stderr || error.message));
    });
  });
}
