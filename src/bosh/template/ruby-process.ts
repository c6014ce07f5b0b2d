import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ProductError } from '../../errors/product-error.ts';

export interface RubyCommand {
  readonly engine: 'ruby' | 'ruby.wasm';
  readonly executable: string;
  readonly arguments: readonly string[];
  /** Milliseconds until it can render; absent: as long as it takes, for the engine that we bring along. */
  readonly startPatience?: number;
}

const script = fileURLToPath(new URL('renderer.rb', import.meta.url));
const disabled = '--disable=gems,did_you_mean,error_highlight,syntax_suggest,rubyopt';
const keptErrorText = 4096;

/** A ruby that is installed on this machine. */
export function nativeRuby(executable: string): RubyCommand {
  // Older rubies warn about features to disable that they have not.
  return { engine: 'ruby', executable, arguments: ['-W0', '-EUTF-8:UTF-8', disabled, script] };
}

/** Ruby as WebAssembly in a Node of its own: nothing blocks here, and its 200 MB go when it ends. */
export function wasmRuby(): RubyCommand {
  const main = fileURLToPath(new URL('ruby-wasm.ts', import.meta.url));
  const flags = ['--liftoff-only', '--disable-warning=ExperimentalWarning'];
  return { engine: 'ruby.wasm', executable: process.execPath, arguments: [...flags, main, script] };
}

/** A running renderer.rb: a line in, a line out. */
export class RubyProcess {
  readonly #command: RubyCommand;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #exited: Promise<unknown>;
  #errorText = '';

  /** RUBY_FAILED when there is nothing to start. */
  constructor(command: RubyCommand) {
    this.#command = command;
    try {
      this.#child = spawn(command.executable, command.arguments, { stdio: ['pipe', 'pipe', 'pipe'] });
    } catch (error) {
      throw this.#failure(error);
    }
    this.#exited = once(this.#child, 'close').catch(() => undefined);
    this.#child.stdin.on('error', () => this.#child.kill());
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-keptErrorText);
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /**
   * Resolves with true once templates can be rendered, and with false when its patience is over: it was ended then.
   * RUBY_FAILED with ruby's own words when it does not come up.
   */
  async ready(): Promise<boolean> {
    const failed = once(this.#child, 'error').then(([error]: unknown[]) =>
      Promise.reject(this.#failure(error)),
    );
    const line = await this.#patiently(
      Promise.race([this.#lines.next(), failed]),
      this.#command.startPatience,
    );
    if (line === 'late') return false;
    if (line.done !== true && line.value === '{"ready":true}') return true;
    await this.#exited;
    throw this.#failure(undefined);
  }

  /** Sends one request; RUBY_FAILED when the process ends, or takes longer than `patience` milliseconds. */
  async ask(request: string, patience: number): Promise<string> {
    this.#child.stdin.write(`${request}\n`);
    const line = await this.#patiently(this.#lines.next(), patience);
    if (line !== 'late' && line.done !== true) return line.value;
    // What it printed came from templates, which may have printed secrets.
    throw new ProductError(
      'RUBY_FAILED',
      `${this.#command.engine} ended, or was ended after ${patience / 1000} s, while it rendered templates`,
    );
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    this.#end('SIGTERM');
    await this.#exited;
  }

  async #patiently<T>(answer: Promise<T>, patience: number | undefined): Promise<T | 'late'> {
    if (patience === undefined) return answer;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => {
        this.#end('SIGKILL');
        resolve('late');
      }, patience);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  }

  /** What a script in ruby's place has started may hold its output open for ever: nobody waits for the end of that. */
  #end(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#child.kill(signal);
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #failure(cause: unknown): ProductError {
    const said = cause instanceof Error ? cause.message : this.#errorText.trim();
    return new ProductError(
      'RUBY_FAILED',
      `'${this.#command.executable}' could not be used to render templates: ${said}`,
      {
        cause,
      },
    );
  }
}
