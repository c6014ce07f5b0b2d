import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

export interface HeldProgramRequest {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  /** This program's own ids where absent. */
  readonly owner: { readonly userId: number; readonly groupId: number } | undefined;
  /** Arguments of prlimit(1). */
  readonly limits: readonly string[];
  /** Whether set-user-id programs may give it more rights. */
  readonly allowSetuid: boolean;
  /** Descriptors, or `pipe`. */
  readonly output: readonly [stdout: number | 'pipe', stderr: number | 'pipe'];
}

export interface HeldProgram {
  readonly child: ChildProcess;
  /** Of the program: what waits in its place becomes it. */
  readonly pid: number;
  /** Lets it begin. */
  release(): Promise<void>;
}

// a caller that is killed before it says go leaves nothing behind: the other end is closed then; the folder
// is entered as the program's user, who may have put a link in its place
const waitScript = 'cd -- "$1" || exit 1; unset OLDPWD; shift; read -r _ <&3 || exit 1; exec 3<&-; exec "$@"';

/**
 * Starts a program in a session of its own that waits until it is told to go, so that its pid is on the disk
 * before it does anything. Everything here runs as the program's own user already, with its environment.
 */
export async function startGated(request: HeldProgramRequest): Promise<HeldProgram> {
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
  // it may be killed while it waits; then its pid is not there, which a look at it tells
  gate.on('error', () => undefined);
  return {
    child,
    pid,
    release: () => new Promise((resolve) => gate.end('go\n', resolve)),
  };
}

const isWritable = (stream: unknown): stream is Writable =>
  typeof stream === 'object' && stream !== null && 'end' in stream;
