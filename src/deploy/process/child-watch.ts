/** Is told of every program that a run starts and waits for, so that a later run can find it. */
export interface ChildWatch {
  started(pid: number, doing: string): void;
  ended(): void;
}
