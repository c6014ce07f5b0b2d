import { spawn } from 'node:child_process';
import { keepHead } from './keep-head.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of the node's own helper programs: nothing of a pod's, and messages in one language. */
export const toolEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;

/**
 * Runs a program of the host with exact arguments and collects what it prints, 64 KiB of each stream: cp(1)
 * names what it finds in a pod's volume. Resolves whatever the exit code is (128 + n after signal n is not
 * told apart: 128); rejects where it cannot start.
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
