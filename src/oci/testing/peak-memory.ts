import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** Reads a process's peak memory in KiB from the kernel (proc(5), VmHWM), until the process has ended. */
export class PeakMemory {
  #peak = 0;
  #reading: Promise<void> = Promise.resolve();

  watch(child: ChildProcess): void {
    this.#reading = this.#readAll(child);
  }

  async end(): Promise<number> {
    await this.#reading;
    return this.#peak;
  }

  async #readAll(child: ChildProcess): Promise<void> {
    while (child.exitCode === null && child.signalCode === null) {
      this.#peak = Math.max(this.#peak, await highWaterMark(child.pid ?? 0));
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
  }
}

async function highWaterMark(pid: number): Promise<number> {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ESRCH'].includes(String(error.code)))
      return 0;
    throw error;
  }
}
