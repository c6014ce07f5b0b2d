import { ProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';
import type { ExecOptions, ExecResult } from './pod-exec.ts';
import { execInPod } from './pod-exec.ts';

/** A POSIX shell's; the words after the script are its $0, $1 and so on. */
export type ShellCommand = readonly [shell: '/bin/sh', flag: '-c', script: string, ...words: string[]];

export interface ScriptOptions extends Omit<ExecOptions, 'command' | 'stdin'> {
  /** Shows in the API server's audit log: no secrets. */
  readonly command: ShellCommand;
}

/** On the wire the end of a script that came to it with 0; none of ours ends with it otherwise. */
export const successExit = 20;
const successTrailer = `trap '[ "$?" -ne 0 ] || exit ${successExit}' EXIT\n`;

/**
 * Runs a shell script in a container and waits for its end, as `execInPod` does. Exit code 0 is the script's own: an API server
 * says success, too, of a command whose container runtime was killed under it (client-go: tools/remotecommand/errorstream.go
 * takes an error stream that ends without a word for one), which is KUBERNETES_UNREACHABLE here.
 */
export async function runScript(access: Access, options: ScriptOptions): Promise<ExecResult> {
  const [shell, flag, script, ...words] = options.command;
  const result = await execInPod(access, {
    ...options,
    command: [shell, flag, successTrailer + script, ...words],
  });
  if (result.exitCode === 0)
    throw new ProductError(
      'KUBERNETES_UNREACHABLE',
      `a command in pod ${options.namespace}/${options.pod} was ended before it had said how it went; run the call again`,
    );
  return result.exitCode === successExit ? { ...result, exitCode: 0 } : result;
}
