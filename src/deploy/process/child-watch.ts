/** A program that a run starts and waits for. */
export interface Errand {
  /** Description for the operator, for example `CPI call 'create_vm'`. */
  readonly doing: string;
  /**
   * True if the result is of no use after the run has ended. The program may then be killed instead of waited
   * for.
   */
  readonly disposable: boolean;
}

/** Receives every program that a run starts and waits for, so that a later run can find it. */
export interface ChildWatch {
  onStart(pid: number, errand: Errand): void;
}
