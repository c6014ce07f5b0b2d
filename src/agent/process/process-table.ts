/** Which process a number meant when it was seen: a pid is used again, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since the machine's boot (proc(5), stat field 22). */
  readonly startTicks: number;
}

/** A process that lives (a zombie does not). */
export interface LiveProcess extends ProcessIdentity {
  readonly name: string;
  /** The real and the saved user id: another process of one of them may signal this one (kill(2)). */
  readonly userIds: readonly number[];
  /** The mark of the program that began it, or what began that; undefined where none had one. */
  readonly mark: string | undefined;
  /** When it started, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly memoryKilobytes: number;
  /** Processor time used so far, in seconds. */
  readonly cpuSeconds: number;
}

/** One process among all. */
export interface ProcessUsage extends ProcessIdentity {
  readonly parentPid: number;
  /** The pid of the process that began its session (setsid(2)). */
  readonly sessionId: number;
  readonly memoryKilobytes: number;
  readonly cpuSeconds: number;
}

/** The processes of this machine. */
export interface ProcessTable {
  find(pid: number): Promise<LiveProcess | undefined>;
  /** All that live, this program among them. */
  list(): Promise<readonly ProcessUsage[]>;
  /**
   * The pids of processes whose command line, its arguments joined by blanks, matches; not this program's
   * own.
   */
  matching(pattern: RegExp): Promise<readonly number[]>;
  /** Sends a signal to one process, if it is still the one meant; answers whether it was. */
  signal(identity: ProcessIdentity, name: NodeJS.Signals): Promise<boolean>;
  /** Processes that hold something at or below a directory: what they are and what they hold. */
  openHandlesBelow(directory: string): Promise<readonly string[]>;
}
