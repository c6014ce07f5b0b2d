import type { Clock } from '../../platform/clock.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { signalGroup } from '../../platform/run-program.ts';
import { errorMessage } from '../file/error-code.ts';
import { randomBytes } from 'node:crypto';

/** A program to run. `file` and `arguments` are passed unchanged; no shell splits or expands them. */
export interface AgentProgramRequest {
  readonly file: string;
  readonly arguments: readonly string[];
  /** The whole environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** Open file descriptors; /dev/null if absent. */
  readonly stdout?: number;
  readonly stderr?: number;
  readonly userId?: number;
  readonly groupId?: number;
  readonly umask?: number;
  /** The launch mark of the program and its descendants (LiveProcess.mark); see newLaunchMark. */
  readonly mark?: string;
}

/** How a program ended. `failure` is the reason if it could not be started. */
export interface ProgramExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  readonly failure: string | undefined;
}

/** A program that runs in a session of its own, so that it outlives the agent. */
export interface StartedProgram {
  readonly exit: Promise<ProgramExit>;
  /** Sends a signal to the program's process group. Does nothing after the program has ended. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
}

/** Starts programs. */
export interface Programs {
  start(request: AgentProgramRequest): StartedProgram;
}

/** Returns "exited with 3", "was ended by SIGKILL", or why the program did not start. */
export function describeExit(exit: ProgramExit): string {
  if (exit.failure !== undefined) return `could not be started: ${exit.failure}`;
  return exit.signal === undefined ? `exited with ${exit.code}` : `was ended by ${exit.signal}`;
}

const graceMilliseconds = 10_000;

/**
 * Runs a program to its end and returns how it ended. When `signal` aborts, its process group gets SIGTERM
 * and, ten seconds later, SIGKILL.
 */
export async function runAgentProgram(
  ports: { readonly programs: Programs; readonly clock: Clock },
  request: AgentProgramRequest,
  signal: AbortSignal,
): Promise<ProgramExit> {
  const program = ports.programs.start(request);
  const ended = new AbortController();
  const cancel = (): void => {
    program.signal('SIGTERM');
    void ports.clock.sleep(graceMilliseconds, ended.signal).then(() => program.signal('SIGKILL'));
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await program.exit;
  } finally {
    ended.abort();
    signal.removeEventListener('abort', cancel);
  }
}

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
  arguments: args,
  umask,
  mark,
}: AgentProgramRequest): readonly [string, ...string[]] {
  const marked: readonly [string, ...string[]] =
    mark === undefined ? [file, ...args] : ['prlimit', `--rttime=${mark}:`, '--', file, ...args];
  return umask === undefined ? marked : ['/bin/sh', '-c', umaskScript, 'sh', umask.toString(8), ...marked];
}

function spawnProgram(request: AgentProgramRequest): ChildProcess {
  const [file, ...args] = buildCommand(request);
  return spawn(file, args, {
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
      resolve({ code: undefined, signal: undefined, failure: errorMessage(error) }),
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

/**
 * Returns a random number that a start program gets as its soft limit RLIMIT_RTTIME (real-time CPU time in
 * microseconds: more than 30,000 years). Its descendants inherit the limit, even after exec, setsid, a
 * cleared environment or the end of their parents. Only root can change the limit of a process of root. So
 * the agent recognises them by it.
 */
export function newLaunchMark(): string {
  return String(2n ** 60n + (randomBytes(8).readBigUInt64BE() >> 4n));
}

/** Reads the mark from /proc/<pid>/limits. Returns undefined if the process has none. */
export function launchMarkOf(limits: string): string | undefined {
  return /^Max realtime timeout +([0-9]+) /m.exec(limits)?.[1];
}
