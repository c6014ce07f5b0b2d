import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { errorCode, errorText } from '../file/error-code.ts';
import type { ProgramExit, ProgramRequest, Programs, StartedProgram } from './program.ts';

/** Starts programs as processes of this machine. */
export const systemPrograms: Programs = {
  start: (request) => watch(spawnProgram(request)),
};

// The umask belongs to the whole process. If it were set around spawn, it would also apply to files that are
// created concurrently.
const umaskScript = 'umask "$1"; shift; exec "$@"';

/** Returns a command that sets the umask and the mark and then executes the program. */
function buildCommand({
  file,
  arguments: list,
  umask,
  mark,
}: ProgramRequest): readonly [string, ...string[]] {
  const marked: readonly [string, ...string[]] =
    mark === undefined ? [file, ...list] : ['prlimit', `--rttime=${mark}:`, '--', file, ...list];
  return umask === undefined ? marked : ['/bin/sh', '-c', umaskScript, 'sh', umask.toString(8), ...marked];
}

function spawnProgram(request: ProgramRequest): ChildProcess {
  const [file, ...list] = buildCommand(request);
  return spawn(file, list, {
    env: { ...request.environment },
    stdio: ['ignore', request.stdout ?? 'ignore', request.stderr ?? 'ignore'],
    detached: true,
    ...(request.directory === undefined ? {} : { cwd: request.directory }),
    ...(request.userId === undefined ? {} : { uid: request.userId }),
    ...(request.groupId === undefined ? {} : { gid: request.groupId }),
  });
}

function watch(child: ChildProcess): StartedProgram {
  let ended = false;
  const exit = new Promise<ProgramExit>((resolve) => {
    child.once('error', (error) =>
      resolve({ code: undefined, signal: undefined, failure: errorText(error) }),
    );
    child.once('exit', (code, signal) =>
      resolve({ code: code ?? undefined, signal: signal ?? undefined, failure: undefined }),
    );
  }).finally(() => {
    ended = true;
  });
  return {
    exit,
    signal(name) {
      if (!ended && child.pid !== undefined) signalGroup(child.pid, name);
    },
  };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
