import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { until } from '../../support/until.ts';

/** A growing file in a VM, and the command that runs a shell there. */
interface FollowedFile {
  readonly disk: string;
  /** Ends when it is aborted, and also when the VM is deleted. */
  readonly command: readonly string[];
}

/**
 * Counts for each disk the lines that its job has written and synced, as far as the suite has received them.
 * These lines must be on the disk whatever happens later. The job writes their numbers outside of its disk,
 * and they are read while it runs, because they cannot be read after it has died.
 */
export class AcknowledgedWrites {
  readonly #lines = new Map<string, number>();
  readonly #listeners = new Map<string, ChildProcess>();

  linesOf(disk: string): number {
    return this.#lines.get(disk) ?? 0;
  }

  record(disk: string, lines: number): void {
    this.#lines.set(disk, Math.max(lines, this.linesOf(disk)));
  }

  /** Reads the numbers that the command prints. Resolves after `enough` numbers beyond the known ones. */
  async follow({ disk, command: [program = '', ...args] }: FollowedFile, enough: number): Promise<void> {
    this.end(disk);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    this.#listeners.set(disk, child);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      const last = Number(lines.at(-1) ?? 0);
      if (Number.isSafeInteger(last)) this.record(disk, last);
    });
    const previous = this.linesOf(disk);
    await until(`${enough} more lines on ${disk}`, async () => {
      if (this.linesOf(disk) >= previous + enough) return true;
      assert.equal(child.exitCode, null, `nothing is heard of ${disk}: ${output}`);
      return false;
    });
  }

  /** Stops reading the numbers of a disk. */
  end(disk: string): void {
    this.#listeners.get(disk)?.kill('SIGKILL');
    this.#listeners.delete(disk);
  }

  close(): void {
    for (const disk of [...this.#listeners.keys()]) this.end(disk);
  }
}
