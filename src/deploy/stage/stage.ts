import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { oneLine } from '../../errors/text.ts';
import type { Clock } from '../../platform/clock.ts';
import { formatDuration, showProgress, type LiveLine, type OnBytes } from '../../platform/live-progress.ts';

/** Lets a running step report about itself. */
export interface Step {
  /** Ends the step's line with ` Skipped [reason]` instead of ` Finished`. */
  skip(reason: string): void;
  /** Reports the bytes of a download or an upload, which a terminal shows. */
  readonly onBytes?: OnBytes | undefined;
}

export interface StepOptions {
  /** Runs the step even after an interrupt, for cleaning up. */
  readonly always?: boolean;
}

/**
 * The progress that an operator reads: named steps, some of them grouped. The line of a step is printed
 * in two parts, so that a running step is visible; a terminal shows it with the elapsed time instead.
 * Every step is a safe point: it does not begin after the operator has interrupted the run.
 */
export interface Stage {
  perform<T>(name: string, action: (step: Step) => Promise<T>, options?: StepOptions): Promise<T>;
  performComplex<T>(name: string, action: (stage: Stage) => Promise<T>): Promise<T>;
}

export interface PrintedStageOptions {
  readonly clock: Clock;
  readonly write: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Set for a terminal. The text that stays there is the same as without it. */
  readonly live?: LiveLine | undefined;
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
    const title = `${this.#isGroup ? '  ' : ''}${oneLine(name)}...`;
    const { live, write, clock } = this.#options;
    if (live === undefined) write(title);
    let done = 'Finished';
    const run = (onBytes?: OnBytes): Promise<T> =>
      action({ skip: (reason) => (done = `Skipped [${oneLine(reason)}]`), onBytes });
    return this.#measure(
      () => (live === undefined ? run() : showProgress({ live, clock }, title, run)),
      (elapsed, failed) =>
        write(`${live === undefined ? '' : title} ${failed ? 'Failed' : done} (${elapsed})\n`),
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
