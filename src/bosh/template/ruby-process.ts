import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { ProductError } from '../../errors/product-error.ts';
import { stdioWithoutInheritedFds } from '../../platform/inherited-descriptors.ts';
import { rubyEnvironment } from './ruby-command.ts';
import type { RubyCommand } from './ruby-command.ts';

const maxStderr = 4096;
/** Bytes of all responses of one process: far more than the jobs of a VM need. */
const maxAnswersLength = 64 * 1024 * 1024;

type RubyChild = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/** A running renderer.rb. Its output is untrusted, because templates may write anything to it. */
export class RubyProcess {
  readonly #command: RubyCommand;
  readonly #child: RubyChild;
  readonly #lines: AsyncIterator<string>;
  readonly #exited: Promise<unknown>;
  readonly #signal: AbortSignal | undefined;
  #errorText = '';

  /**
   * Starts the process, which ends when the signal is aborted. Throws RUBY_FAILED if it cannot be started.
   */
  constructor(command: RubyCommand, signal: AbortSignal | undefined) {
    this.#command = command;
    this.#signal = signal;
    try {
      this.#child = spawnRuby(command);
    } catch (error) {
      throw this.#failure(error);
    }
    const end = (): void => this.#end();
    signal?.addEventListener('abort', end);
    this.#exited = once(this.#child, 'close')
      .catch(() => undefined)
      .finally(() => signal?.removeEventListener('abort', end));
    this.#child.stdin.on('error', () => this.#end());
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-maxStderr);
    });
    this.#lines = linesOf(this.#child.stdout, maxAnswersLength);
  }

  /**
   * Waits until templates can be rendered and returns true. Returns false if the start timeout has passed;
   * the process has been killed then. Throws RUBY_FAILED with ruby's own message if it does not start.
   */
  async waitUntilReady(): Promise<boolean> {
    const failed = once(this.#child, 'error').then(([error]: unknown[]) =>
      Promise.reject(this.#failure(error)),
    );
    const line = await this.#withTimeout(
      Promise.race([this.#lines.next(), failed]),
      this.#command.startTimeoutMs,
    );
    if (line === 'late') return false;
    if (line.done !== true && line.value === '{"ready":true}') return true;
    await this.#exited;
    throw this.#failure(undefined);
  }

  /** Sends a batch. The response has a line for each of its templates. */
  send(request: string): void {
    this.#child.stdin.write(`${request}\n`);
  }

  /**
   * Waits for the result of the next template; `name` names it in errors. Throws RUBY_FAILED if the process
   * ends or takes longer than `idleTimeoutMs` milliseconds, and INTERRUPTED if the signal is aborted. Errors
   * do not contain the output of the process, because templates may have printed secrets.
   */
  async answer(name: string, idleTimeoutMs: number): Promise<string> {
    const { engine } = this.#command;
    const line = await this.#withTimeout(this.#lines.next(), idleTimeoutMs);
    if (line === 'late') {
      throw new ProductError(
        'RUBY_FAILED',
        `'${name}' was not rendered after ${idleTimeoutMs / 1000} s, so ${engine} was killed; the template does not terminate`,
      );
    }
    if (line.done !== true) return line.value;
    if (this.#signal?.aborted === true) {
      throw new ProductError('INTERRUPTED', `Interrupted while '${name}' was rendered`);
    }
    throw new ProductError(
      'RUBY_FAILED',
      `${engine} ended while it rendered '${name}'; a template cannot use JavaScript or more than 1 GiB of memory, and ` +
        'the output of all templates is limited to 64 MiB',
    );
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    this.#end();
    await this.#exited;
  }

  async #withTimeout<T>(answer: Promise<T>, idleTimeoutMs: number | undefined): Promise<T | 'late'> {
    if (idleTimeoutMs === undefined) return answer;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => {
        this.#end();
        resolve('late');
      }, idleTimeoutMs);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  }

  /**
   * Kills the process. Does not wait for its output to close, because a program that runs instead of ruby may
   * have a child process that keeps the output open.
   */
  #end(): void {
    this.#child.kill('SIGKILL');
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #failure(cause: unknown): ProductError {
    const output = cause instanceof Error ? cause.message : this.#errorText.trim();
    return new ProductError(
      'RUBY_FAILED',
      `'${this.#command.name}' could not be used to render templates: ${output}`,
      {
        cause,
      },
    );
  }
}

function spawnRuby(command: RubyCommand): RubyChild {
  const empty = openSync('/dev/null', 'r+');
  try {
    const child = spawn(command.executable, command.arguments, {
      stdio: stdioWithoutInheritedFds(['pipe', 'pipe', 'pipe'], empty),
      env: rubyEnvironment,
      // The process has its own process group, because kill(0, ...) reaches a whole group, even in other
      // namespaces.
      detached: true,
    });
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) throw new Error('spawn returned no pipes');
    return Object.assign(child, { stdin, stdout, stderr });
  } finally {
    closeSync(empty);
  }
}

/** Yields lines until the stream ends or is destroyed, or until `limit` bytes have been read. */
async function* linesOf(stream: Readable, limit: number): AsyncGenerator<string, void, undefined> {
  let begun: Buffer[] = [];
  let remaining = limit;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      remaining -= chunk.length;
      if (remaining < 0) return;
      let start = 0;
      for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
        yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString('utf8');
        begun = [];
        start = end + 1;
      }
      begun.push(chunk.subarray(start));
    }
  } catch (error) {
    if (!stream.destroyed) throw error;
  }
}
