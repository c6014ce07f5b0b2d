import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { errorCode, errorText } from '../file/error-code.ts';
import type { ProgramExit, ProgramRequest, Programs, StartedProgram } from './program.ts';

/** Programs as processes of this machine. */
export const systemPrograms: Programs = {
  start(request: ProgramRequest): StartedProgram {
    const previous = request.umask === undefined ? undefined : process.umask(request.umask);
    try {
      return watch(spawnProgram(request));
    } finally {
      if (previous !== undefined) process.umask(previous);
    }
  },
};

function spawnProgram(request: ProgramRequest): ChildProcess {
  return spawn(request.file, [...request.arguments], {
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
