import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { oneLine } from '../../errors/text.ts';
import type { Clock } from '../../platform/clock.ts';

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

export interface PrintedStageOptions {
  readonly clock: Clock;
  readonly write: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Prints bosh's progress lines (bosh-cli ui/stage.go, ui/fmt/time.go), with or without a terminal. */
export class PrintedStage implements Stage {
  readonly #options: PrintedStageOptions;
  readonly #isGroup: boolean;
  #afterGroup = false;

  constructor(options: PrintedStageOptions, isGroup = false) {
    this.#options = options;
    this.#isGroup = isGroup;
  }

  async perform<T>(name: string, action: (step: Step) => Promise<T>, options: StepOptions = {}): Promise<T> {
    if (options.always !== true) throwIfInterrupted(this.#options.signal);
    if (this.#afterGroup) this.#options.write('\n');
    this.#afterGroup = false;
    this.#options.write(`${this.#isGroup ? '  ' : ''}${oneLine(name)}...`);
    let done = 'Finished';
    return this.#measure(
      () => action({ skip: (reason) => (done = `Skipped [${oneLine(reason)}]`) }),
      (elapsed, failed) => this.#options.write(` ${failed ? 'Failed' : done} (${elapsed})\n`),
    );
  }

  async performComplex<T>(name: string, action: (stage: Stage) => Promise<T>): Promise<T> {
    throwIfInterrupted(this.#options.signal);
    this.#options.write(`\nStarted ${oneLine(name)}\n`);
    this.#afterGroup = true;
    return this.#measure(
      () => action(new PrintedStage(this.#options, true)),
      (elapsed, failed) =>
        this.#options.write(`${failed ? 'Failed' : 'Finished'} ${oneLine(name)} (${elapsed})\n`),
    );
  }

  async #measure<T>(action: () => Promise<T>, end: (elapsed: string, failed: boolean) => void): Promise<T> {
    const start = this.#options.clock.now();
    const elapsed = (): string => formatDuration(this.#options.clock.now() - start);
    try {
      const result = await action();
      end(elapsed(), false);
      return result;
    } catch (error) {
      end(elapsed(), true);
      throw error;
    }
  }
}

/** Formats a duration as HH:MM:SS, rounded down to seconds. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
