export interface StageTime {
  readonly stage: string;
  readonly milliseconds: number;
}

/**
 * Times a deploy by its output: a stage's line is printed in two parts, when it begins and when it ends.
 * Feed it every chunk with the moment it arrived.
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
