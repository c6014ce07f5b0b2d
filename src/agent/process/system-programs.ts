import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { errorCode, errorText } from '../file/error-code.ts';
import type { ProgramExit, ProgramRequest, Programs, StartedProgram } from './program.ts';

/** Programs as processes of this machine. */
export const systemPrograms: Programs = {
  start: (request) => watch(spawnProgram(request)),
};

// the mask is the whole process's: set around spawn, it would fall on files that other work makes meanwhile
const umaskScript = 'umask "$1"; shift; exec "$@"';

/** The request's command as one that sets the mask and the mark before it becomes the program. */
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
