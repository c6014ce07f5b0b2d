/** A program that a run starts and waits for. */
export interface Errand {
  /** What it does, as an operator reads it: `CPI call 'create_vm'`. */
  readonly doing: string;
  /** Nobody wants its outcome once the run is gone: it may be killed rather than waited for. */
  readonly disposable: boolean;
}

/** Is told of every program that a run starts and waits for, so that a later run can find it. */
export interface ChildWatch {
  onStart(pid: number, errand: Errand): void;
}
