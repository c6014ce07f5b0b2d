import type { Clock } from '../../platform/clock.ts';
import type { ProgramExit, StartedProgram } from '../process/programs.ts';

/** monit checks once a second if a start program has brought its service up. */
const afterExitMilliseconds = 1000;

/** One run of a start program. */
export class StartRun {
  readonly program: StartedProgram;
  readonly #startedAt: number;
  #end: { readonly exit: ProgramExit; readonly at: number } | undefined;

  constructor(program: StartedProgram, clock: Clock) {
    this.program = program;
    this.#startedAt = clock.now();
    void program.exit.then((exit) => (this.#end = { exit, at: clock.now() }));
  }

  /** Undefined while the program runs. */
  get exit(): ProgramExit | undefined {
    return this.#end?.exit;
  }

  /**
   * Returns until when this run may bring up a service with this timeout, in milliseconds since the epoch.
   */
  deadline(timeoutMilliseconds: number): number {
    const late = this.#startedAt + timeoutMilliseconds;
    return this.#end === undefined ? late : Math.min(late, this.#end.at + afterExitMilliseconds);
  }
}
