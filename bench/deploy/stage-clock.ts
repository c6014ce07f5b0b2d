export interface StageTime {
  readonly stage: string;
  readonly milliseconds: number;
}

/**
 * Measures the stages of a deploy by its output: the line of a stage is printed in two parts, at its begin
 * and at its end. The caller passes every chunk with its arrival time.
 */
export class StageClock {
  readonly times: StageTime[] = [];
  #line = '';
  #began = 0;

  feed(chunk: string, now: number): void {
    for (const [index, part] of chunk.split('\n').entries()) {
      if (index > 0) this.#end(now);
      if (this.#line === '' && part !== '') this.#began = now;
      this.#line += part;
    }
  }

  #end(now: number): void {
    const stage = /^\s+(.*)\.\.\. (Finished|Skipped|Failed)/.exec(this.#line)?.[1];
    if (stage !== undefined) this.times.push({ stage, milliseconds: now - this.#began });
    this.#line = '';
  }
}
