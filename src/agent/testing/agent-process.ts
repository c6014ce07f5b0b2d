import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from './eventually.ts';

/** The agent's program from its sources: its arguments follow. */
export const agentFromSources: readonly [string, ...string[]] = [
  process.execPath,
  join(import.meta.dirname, '../main.ts'),
];

/** The agent as a process of its own, as on a VM. */
export class AgentProcess {
  readonly #child: ChildProcess;
  #output = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
  }

  /** Starts a program without waiting for it. */
  static spawn([file, ...args]: readonly [string, ...string[]]): AgentProcess {
    return new AgentProcess(spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  }

  /** The log of this process. */
  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Waits for a line of the log, and returns its match. Fails if the process ends before. */
  logged(line: RegExp): Promise<RegExpExecArray> {
    return eventually(`a line ${line.source} in the log:\n${this.#output}`, async () => {
      const match = line.exec(this.#output);
      if (match === null && this.hasEnded) throw new Error(`the agent has ended:\n${this.#output}`);
      return match ?? undefined;
    });
  }

  /** Returns the signal by which the process ended; undefined if it exited. */
  async ended(): Promise<NodeJS.Signals | undefined> {
    if (!this.hasEnded) await once(this.#child, 'exit');
    return this.#child.signalCode ?? undefined;
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.hasEnded) {
      this.#child.kill(signal);
      await this.ended();
    }
    return this.#child.exitCode;
  }
}
