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

/** How long one step took, for the caller of a whole run. */
export interface StepTiming {
  readonly name: string;
  /** The group the step belongs to; absent for a step of its own and for a group. */
  readonly group?: string;
  readonly milliseconds: number;
  readonly outcome: 'finished' | 'skipped' | 'failed';
}
