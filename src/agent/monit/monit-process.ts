/** A program of a monit file, split into arguments as monit does. */
export interface MonitProgram {
  readonly arguments: readonly [string, ...string[]];
  /** Seconds that the program has to bring the process up or down. */
  readonly timeoutSeconds: number;
  /** User and group to run as, by name or number. */
  readonly user: string | undefined;
  readonly group: string | undefined;
}

/** A `check process` stanza. */
export interface MonitProcess {
  readonly job: string;
  readonly name: string;
  readonly pidFile: string;
  readonly start: MonitProgram;
  readonly stop: MonitProgram | undefined;
}
