import type { Clock } from '../clock.ts';
import type { ProgramExit, StartedProgram } from '../process/program.ts';

/** monit looks once a second whether what a start program begins is up. */
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

  /** Undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#end?.exit;
  }

  /** Until when it may still bring up a service that has so long for it. */
  deadline(timeoutMilliseconds: number): number {
    const late = this.#startedAt + timeoutMilliseconds;
    return this.#end === undefined ? late : Math.min(late, this.#end.at + afterExitMilliseconds);
  }
}
