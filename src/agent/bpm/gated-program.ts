import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

export interface GatedProgramRequest {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  /** The program's user; by default the user of this process. */
  readonly owner: { readonly userId: number; readonly groupId: number } | undefined;
  /** Arguments of prlimit(1). */
  readonly limits: readonly string[];
  /** True if set-user-ID programs may give the program more privileges. */
  readonly allowSetuid: boolean;
  /** Descriptors, or `pipe`. */
  readonly output: readonly [stdout: number | 'pipe', stderr: number | 'pipe'];
}

export interface GatedProgram {
  readonly child: ChildProcess;
  /** The pid of the program. The shell that waits for `release` has the same pid, because it calls exec. */
  readonly pid: number;
  /** Lets the program begin. */
  release(): Promise<void>;
}

// If the caller dies before it calls `release`, the pipe closes, and the shell exits without starting the
// program. `cd` runs as the program's user, because that user may have replaced the directory with a link.
const waitScript = 'cd -- "$1" || exit 1; unset OLDPWD; shift; read -r _ <&3 || exit 1; exec 3<&-; exec "$@"';

/**
 * Starts a program in a session of its own. The program waits for `release`, so that its pid is on the disk
 * before it does anything. The shell that waits already runs as the program's user, with the program's
 * environment.
 */
export async function startGated(request: GatedProgramRequest): Promise<GatedProgram> {
  const { owner, output, allowSetuid } = request;
  const command = [
    ...['/usr/bin/prlimit', ...request.limits, '--'],
    ...(allowSetuid ? [] : ['/usr/bin/setpriv', '--no-new-privs', '--']),
    ...[request.file, ...request.arguments],
  ];
  const stdio: StdioOptions = ['ignore', ...output, 'pipe'];
  const child = spawn('/bin/sh', ['-c', waitScript, 'sh', request.directory, ...command], {
    env: { ...request.environment },
    cwd: '/',
    stdio,
    detached: true,
    ...(owner === undefined ? {} : { uid: owner.userId, gid: owner.groupId }),
  });
  await once(child, 'spawn');
  const { pid } = child;
  const gate = child.stdio[3];
  if (pid === undefined || !isWritable(gate)) throw new Error('a program was started without its pipe');
  // The waiting shell may be killed. Callers notice that, because no process has its pid.
  gate.on('error', () => undefined);
  return {
    child,
    pid,
    release: () => new Promise((resolve) => gate.end('go\n', resolve)),
  };
}

const isWritable = (stream: unknown): stream is Writable =>
  typeof stream === 'object' && stream !== null && 'end' in stream;
