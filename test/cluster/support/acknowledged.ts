import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { until } from '../../support/until.ts';

/** Where a file that grows in a VM is, and the words that reach a shell there. */
export interface Followed {
  readonly disk: string;
  /** Ends when this is told to; a VM that goes ends it too. */
  readonly command: readonly string[];
}

/**
 * How many lines each disk's job has written and synced, as far as the suite has heard: what must be on the disk whatever
 * comes then. A job says it outside of its disk, and it is heard while it goes on, since what dies cannot be asked any more.
 */
export class Acknowledged {
  readonly #lines = new Map<string, number>();
  readonly #listeners = new Map<string, ChildProcess>();

  linesOf(disk: string): number {
    return this.#lines.get(disk) ?? 0;
  }

  hear(disk: string, lines: number): void {
    this.#lines.set(disk, Math.max(lines, this.linesOf(disk)));
  }

  /** Hears the numbers that the command prints, and resolves at the `enough`th beyond what was known. */
  async follow({ disk, command: [program = '', ...args] }: Followed, enough: number): Promise<void> {
    this.end(disk);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    this.#listeners.set(disk, child);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      const last = Number(lines.at(-1) ?? 0);
      if (Number.isSafeInteger(last)) this.hear(disk, last);
    });
    const former = this.linesOf(disk);
    await until(`${enough} more lines on ${disk}`, async () => {
      if (this.linesOf(disk) >= former + enough) return true;
      assert.equal(child.exitCode, null, `nothing is heard of ${disk}: ${said}`);
      return false;
    });
  }

  /** Hears no more of a disk. */
  end(disk: string): void {
    this.#listeners.get(disk)?.kill('SIGKILL');
    this.#listeners.delete(disk);
  }

  close(): void {
    for (const disk of [...this.#listeners.keys()]) this.end(disk);
  }
}
