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

  /** Resolves once templates can be rendered. RUBY_FAILED with ruby's own words when it does not come up. */
  async ready(): Promise<void> {
    const failed = once(this.#child, 'error').then(([error]: unknown[]) =>
      Promise.reject(this.#failure(error)),
    );
    const line = await Promise.race([this.#lines.next(), failed]);
    if (line.done !== true && line.value === '{"ready":true}') return;
    await this.#exited;
    throw this.#failure(undefined);
  }

  /** Sends one request; RUBY_FAILED when the process ends, or takes longer than `patience` milliseconds. */
  async ask(request: string, patience: number): Promise<string> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patience);
    try {
      this.#child.stdin.write(`${request}\n`);
      const line = await this.#lines.next();
      if (line.done !== true) return line.value;
    } finally {
      clearTimeout(timer);
    }
    // What it printed came from templates, which may have printed secrets.
    throw new ProductError(
      'RUBY_FAILED',
      `${this.#command.engine} ended, or was ended after ${patience / 1000} s, while it rendered templates`,
    );
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    this.#child.kill();
    await this.#exited;
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
