/** Identifies a process. A pid can be reused; a pid together with its start time cannot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since the machine's boot (proc(5), stat field 22). */
  readonly startTicks: number;
}

/** A running process; a zombie is not one. */
export interface LiveProcess extends ProcessIdentity {
  readonly name: string;
  /** The real and the saved user id: another process of one of them may signal this one (kill(2)). */
  readonly userIds: readonly number[];
  /** The launch mark of the process, inherited from the program that started it. Undefined if it has none. */
  readonly mark: string | undefined;
  /** When it started, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly memoryKilobytes: number;
  /** Processor time used so far, in seconds. */
  readonly cpuSeconds: number;
}

/** One process of the list of all processes. */
export interface ProcessUsage extends ProcessIdentity {
  readonly parentPid: number;
  /** The pid of the process that created its session (setsid(2)). */
  readonly sessionId: number;
  readonly memoryKilobytes: number;
  readonly cpuSeconds: number;
}

/** The processes of this machine. */
export interface ProcessTable {
  find(pid: number): Promise<LiveProcess | undefined>;
  /** Returns all running processes, this program included. */
  list(): Promise<readonly ProcessUsage[]>;
  /**
   * Returns the pids of the processes whose command line, with its arguments joined by blanks, matches. Does
   * not return this program's own pid.
   */
  matching(pattern: RegExp): Promise<readonly number[]>;
  /** Sends a signal to a process unless its pid has been reused. Returns true if the signal was sent. */
  signal(identity: ProcessIdentity, name: NodeJS.Signals): Promise<boolean>;
  /** Returns the processes that use something at or below a directory, with the path that they use. */
  openHandlesBelow(directory: string): Promise<readonly string[]>;
}
