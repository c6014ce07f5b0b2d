/** A program to run. `file` and `arguments` are passed unchanged; no shell splits or expands them. */
export interface ProgramRequest {
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
  start(request: ProgramRequest): StartedProgram;
}

/** Returns "exited with 3", "was ended by SIGKILL", or why the program did not start. */
export function describeExit(exit: ProgramExit): string {
  if (exit.failure !== undefined) return `could not be started: ${exit.failure}`;
  return exit.signal === undefined ? `exited with ${exit.code}` : `was ended by ${exit.signal}`;
}
