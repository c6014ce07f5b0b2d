import { spawn } from 'node:child_process';
import { keepHead } from './keep-head.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The environment of the node's helper programs: it contains no variable of a pod, and messages are in one
 * language.
 */
export const toolEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;

/**
 * Runs a program of the host with exact arguments and collects its output, up to 64 KiB of each stream: cp(1)
 * names the files that it finds in a pod's volume. Resolves with any exit code (128 after a signal; the
 * signal's number is not added). Rejects if the program cannot start.
 */
export function runCommand(program: string, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: toolEnvironment });
    const stdout = keepHead(child.stdout);
    const stderr = keepHead(child.stderr);
    child.on('error', reject);
    child.on('close', (code) => resolve({ exitCode: code ?? 128, stdout: stdout(), stderr: stderr() }));
  });
}
