/** Lets a running step report about itself. */
export interface Step {
  /** Ends the step's line with ` Skipped [reason]` instead of ` Finished`. */
  skip(reason: string): void;
}

export interface StepOptions {
  /** Runs the step even after an interrupt, for cleaning up. */
  readonly always?: boolean;
}

/**
 * The progress that an operator reads: named steps, some of them grouped. The line of a step is printed in
 * two parts, so that a running step is visible. Every step is a safe point: it does not begin after the
 * operator has interrupted the run.
 */
export interface Stage {
  perform<T>(name: string, action: (step: Step) => Promise<T>, options?: StepOptions): Promise<T>;
  performComplex<T>(name: string, action: (stage: Stage) => Promise<T>): Promise<T>;
}
