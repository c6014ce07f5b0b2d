import { ProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';
import type { ExecOptions, ExecResult } from './pod-exec.ts';
import { execInPod } from './pod-exec.ts';

/** A command of a POSIX shell. The arguments after the script are its $0, $1 and so on. */
export type ShellCommand = readonly [shell: '/bin/sh', flag: '-c', script: string, ...words: string[]];

export interface ScriptOptions extends Omit<ExecOptions, 'command' | 'stdin'> {
  /** The API server's audit log shows it, so it must not contain secrets. */
  readonly command: ShellCommand;
}

/** The exit code that stands for success on the wire. No script uses it for anything else. */
export const successExit = 20;
const successTrailer = `trap '[ "$?" -ne 0 ] || exit ${successExit}' EXIT\n`;

/**
 * Runs a shell script in a container and waits for its end, as `execInPod` does. Exit code 0 means that the
 * script ran to its end. An API server also reports success for a command whose container runtime was killed
 * (client-go: tools/remotecommand/errorstream.go takes an error stream that ends without a message for
 * success); here that rejects with KUBERNETES_UNREACHABLE.
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
