import { oneLine } from '../../errors/one-line.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../clock.ts';
import type { Stage, Step, StepOptions, StepTiming } from './stage.ts';

export interface PrintedStageOptions {
  readonly clock: Clock;
  readonly write: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly onTiming?: (timing: StepTiming) => void;
}

/** A stage whose lines are bosh's (bosh-cli ui/stage.go, ui/fmt/time.go), written whether or not anybody's terminal is there. */
export class PrintedStage implements Stage {
  readonly #options: PrintedStageOptions;
  readonly #group: string | undefined;
  #afterGroup = false;

  constructor(options: PrintedStageOptions, group?: string) {
    this.#options = options;
    this.#group = group;
  }

  async perform<T>(name: string, action: (step: Step) => Promise<T>, options: StepOptions = {}): Promise<T> {
    if (options.always !== true) throwIfInterrupted(this.#options.signal);
    if (this.#afterGroup) this.#options.write('\n');
    this.#afterGroup = false;
    this.#options.write(`${this.#group === undefined ? '' : '  '}${oneLine(name)}...`);
    let skipped: string | undefined;
    const result = await this.#measure(
      { name, ...(this.#group === undefined ? {} : { group: this.#group }) },
      () => action({ skip: (reason) => (skipped = reason) }),
      (elapsed, failed) =>
        this.#options.write(
          ` ${failed ? 'Failed' : skipped === undefined ? 'Finished' : `Skipped [${oneLine(skipped)}]`} (${elapsed})\n`,
        ),
      () => skipped !== undefined,
    );
    return result;
  }

  async performComplex<T>(name: string, action: (stage: Stage) => Promise<T>): Promise<T> {
    throwIfInterrupted(this.#options.signal);
    this.#options.write(`\nStarted ${oneLine(name)}\n`);
    this.#afterGroup = true;
    return this.#measure(
      { name },
      () => action(new PrintedStage(this.#options, name)),
      (elapsed, failed) =>
        this.#options.write(`${failed ? 'Failed' : 'Finished'} ${oneLine(name)} (${elapsed})\n`),
      () => false,
    );
  }

  async #measure<T>(
    step: Pick<StepTiming, 'name' | 'group'>,
    action: () => Promise<T>,
    end: (elapsed: string, failed: boolean) => void,
    skipped: () => boolean,
  ): Promise<T> {
    const start = this.#options.clock.now().getTime();
    const finish = (failed: boolean): void => {
      const milliseconds = this.#options.clock.now().getTime() - start;
      end(formatDuration(milliseconds), failed);
      const outcome = failed ? 'failed' : skipped() ? 'skipped' : 'finished';
      this.#options.onTiming?.({ ...step, milliseconds, outcome });
    };
    try {
      const result = await action();
      finish(false);
      return result;
    } catch (error) {
      finish(true);
      throw error;
    }
  }
}

/** Throws INTERRUPTED once the operator's signal is aborted. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new ProductError(
    'INTERRUPTED',
    "Stopped at the operator's request; run the same command again to go on from here",
  );
}

/** HH:MM:SS, floored to seconds. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
