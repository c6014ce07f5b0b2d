import { execFile } from 'node:child_process';

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  /** Text for its stdin. */
  readonly input?: string;
  readonly cwd?: string;
  /** All of its environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** The program gets SIGTERM after this time. */
  readonly timeoutMs?: number;
}

/**
 * Runs a program and waits for its end. A non-zero exit code is a result. Rejects if the program cannot be
 * started or a signal ended it.
 */
export function run(
  [program = '', ...args]: readonly string[],
  { input = '', cwd, env, timeoutMs }: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env, timeout: timeoutMs, maxBuffer: 256 * 1024 * 1024 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    // A program that fails at once may not read its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Returns the stdout of a program. Rejects if it fails. */
export async function runWell(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command, options);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed (${exitCode}): ${stderr || stdout}`);
  return stdout;
}
