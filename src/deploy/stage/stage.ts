/** What a running step may say about itself. */
export interface Step {
  /** Ends the step's line with ` Skipped [reason]` instead of ` Finished`. */
  skip(reason: string): void;
}

export interface StepOptions {
  /** Runs even after an interrupt: cleaning up. */
  readonly always?: boolean;
}

/**
 * The progress an operator reads: named steps, some of them grouped. A step's line is printed in two parts, so that a
 * running step is visible. Every step is a safe point: it does not begin once the operator has interrupted.
 */
export interface Stage {
  perform<T>(name: string, action: (step: Step) => Promise<T>, options?: StepOptions): Promise<T>;
  performComplex<T>(name: string, action: (stage: Stage) => Promise<T>): Promise<T>;
}
