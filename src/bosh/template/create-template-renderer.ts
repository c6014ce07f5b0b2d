import { isObject, parseJsonObject } from '../../platform/json.ts';
import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { truncateAtWord } from '../../errors/text.ts';
import { toJson } from '../yaml/exact-json.ts';
import { withNamespaces, withLimits, nativeRuby, wasmRuby, type RubyCommand } from './ruby-command.ts';
import { RubyProcess } from './ruby-process.ts';
import type { TemplateRenderer, TemplateToRender } from './template-renderer.ts';

export interface TemplateRendererOptions {
  /**
   * The path of an executable, without symbolic links. If absent, ruby.wasm is used. ruby.wasm is also used
   * if this executable does not start or cannot be confined. `findRuby` looks for one.
   */
  readonly rubyPath?: string | undefined;
  /** Milliseconds until the executable must be ready to render; a minute by default. */
  readonly startTimeoutMs?: number | undefined;
  /** Called if the executable was not ready in time. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Milliseconds for one template; a minute by default. */
  readonly templateTimeoutMs?: number | undefined;
  /** Aborts rendering. */
  readonly signal?: AbortSignal | undefined;
}

interface RubyResult {
  readonly text?: string;
  readonly error?: { readonly message: string; readonly line?: number };
}

/**
 * Creates a renderer with the native ruby if a path is given, otherwise with ruby.wasm, in a child process.
 * Templates of a release are untrusted, so both run in their own namespaces. If namespaces are not available,
 * native Ruby is not used; ruby.wasm runs without them. Creating a renderer is cheap: it starts no process
 * before start() or render().
 *
 * Templates in one renderer can read each other's properties, so use a renderer only for releases that may
 * share them.
 */
export function createTemplateRenderer(options: TemplateRendererOptions = {}): TemplateRenderer {
  const { rubyPath, startTimeoutMs = 60_000 } = options;
  const native = rubyPath === undefined ? [] : [{ ...withNamespaces(nativeRuby(rubyPath)), startTimeoutMs }];
  const wasm = { ...withNamespaces(wasmRuby()), startTimeoutMs: 60_000 };
  return rendererOf([...native, wasm, withLimits(wasmRuby())], options);
}

/** Creates a renderer with the first of these commands that starts. */
export function rendererOf(
  commands: readonly RubyCommand[],
  { templateTimeoutMs = 60_000, warn, signal }: Omit<TemplateRendererOptions, 'rubyPath' | 'startTimeoutMs'>,
): TemplateRenderer {
  return new RubyRenderer(commands, { idleTimeoutMs: templateTimeoutMs, warn, signal });
}

/** Returns the first executable `ruby` of that PATH, with its links resolved, or undefined. */
export async function findRuby(path: string | undefined): Promise<string | undefined> {
  for (const directory of (path ?? '').split(delimiter).filter((one) => one !== '')) {
    const candidate = join(directory, 'ruby');
    if (await isExecutable(candidate)) return realpath(candidate);
  }
  return undefined;
}

type RubyRendererOptions = Pick<TemplateRendererOptions, 'warn' | 'signal'> & {
  readonly idleTimeoutMs: number;
};

/** Uses one ruby process for all batches, until close(). */
class RubyRenderer implements TemplateRenderer {
  readonly #commands: readonly RubyCommand[];
  readonly #idleTimeoutMs: number;
  readonly #warn: TemplateRendererOptions['warn'];
  readonly #signal: AbortSignal | undefined;
  #engine: RubyCommand['engine'];
  #process: Promise<RubyProcess> | undefined;

  constructor(commands: readonly RubyCommand[], { idleTimeoutMs, warn, signal }: RubyRendererOptions) {
    this.#commands = commands;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#warn = warn;
    this.#signal = signal;
    this.#engine = commands[0]?.engine ?? 'ruby.wasm';
  }

  get engine(): RubyCommand['engine'] {
    return this.#engine;
  }

  async start(): Promise<void> {
    this.#process ??= this.#startFirstAvailable();
    await this.#process;
  }

  preload(): void {
    // The error stays in #process, and render() throws it.
    this.start().catch(() => undefined);
  }

  async render(batch: readonly TemplateToRender[]): Promise<readonly string[]> {
    if (batch.length === 0) return [];
    this.#process ??= this.#startFirstAvailable();
    const ruby = await this.#process;
    const results = await this.#ask(ruby, batch);
    const problems = results.flatMap(({ error }, index) =>
      error === undefined ? [] : [describe(batch[index], error)],
    );
    if (problems.length > 0) throw new ProductError('TEMPLATE_INVALID', problems.join('\n'));
    return results.map(({ text = '' }) => text);
  }

  async close(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) return;
    const ruby = await running.catch((error: unknown) => {
      if (isProductError(error, 'RUBY_FAILED') || isProductError(error, 'INTERRUPTED')) return undefined;
      throw error;
    });
    await ruby?.close();
  }

  async #ask(ruby: RubyProcess, batch: readonly TemplateToRender[]): Promise<readonly RubyResult[]> {
    try {
      const results: RubyResult[] = [];
      // Render each template separately: a batch repeats the properties for each template, so its size would
      // have no limit.
      for (const one of batch) {
        ruby.send(toJson({ templates: [one] }));
        results.push(parseResult(one.name, await ruby.answer(one.name, this.#idleTimeoutMs)));
      }
      return results;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #startFirstAvailable(): Promise<RubyProcess> {
    let failure: unknown;
    for (const command of this.#commands) {
      try {
        const ruby = new RubyProcess(command, this.#signal);
        if (await ruby.waitUntilReady()) {
          this.#engine = command.engine;
          return ruby;
        }
        this.#warn?.(
          `'${command.name}' was not ready after ${(command.startTimeoutMs ?? 0) / 1000} s and was killed; ruby.wasm renders ` +
            'the job templates instead. Fix it, or remove it from the PATH',
        );
      } catch (error) {
        if (!isProductError(error, 'RUBY_FAILED')) throw error;
        if (this.#signal?.aborted === true) {
          throw new ProductError('INTERRUPTED', `Interrupted while '${command.name}' was started`);
        }
        failure ??= error;
      }
    }
    throw failure;
  }
}

const maxMessageLength = 2000;

function parseResult(name: string, answer: string): RubyResult {
  const { text, error } = parseJsonObject(answer) ?? {};
  if (typeof text === 'string') return { text };
  const { message, line } = isObject(error) ? error : {};
  if (typeof message === 'string') {
    const shown = truncateAtWord(message, maxMessageLength);
    return { error: typeof line === 'number' ? { message: shown, line } : { message: shown } };
  }
  throw new ProductError(
    'RUBY_FAILED',
    `'${name}', or a template before it, wrote to Ruby's standard output, which templates must not use`,
  );
}

function describe(
  template: TemplateToRender | undefined,
  { message, line }: NonNullable<RubyResult['error']>,
): string {
  const position = line === undefined ? '' : ` (line ${line})`;
  const properties =
    template?.propertiesPosition === undefined ? '' : `; its properties: ${template.propertiesPosition}`;
  return `Cannot render '${template?.name ?? ''}'${position}: ${message}${properties}`;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
