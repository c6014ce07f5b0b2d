import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { RubyProcess, nativeRuby, wasmRuby } from './ruby-process.ts';
import type { RubyCommand } from './ruby-process.ts';
import type { TemplateRenderer, TemplateToRender } from './template-renderer.ts';

export interface TemplateRendererOptions {
  /** An executable; absent means ruby.wasm, which also steps in where this one does not come up. `findRuby` looks one up. */
  readonly rubyPath?: string | undefined;
  /** Milliseconds that the executable may take until it can render; default a minute. */
  readonly startPatience?: number | undefined;
  /** Told of one that took longer. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Milliseconds that a batch may take; default 5 minutes. */
  readonly patience?: number | undefined;
}

interface RubyResult {
  readonly text?: string;
  readonly error?: { readonly message: string; readonly line?: number | null };
}

/** The native ruby where one is given, else ruby.wasm in a child process. Cheap: nothing starts before start() or render(). */
export function createTemplateRenderer(options: TemplateRendererOptions = {}): TemplateRenderer {
  const { rubyPath, patience = 300_000, startPatience = 60_000, warn } = options;
  const native = rubyPath === undefined ? [] : [{ ...nativeRuby(rubyPath), startPatience }];
  return new RubyRenderer([...native, wasmRuby()], { patience, warn });
}

/** The first executable `ruby` of that PATH, if any. */
export async function findRuby(path: string | undefined): Promise<string | undefined> {
  for (const directory of (path ?? '').split(delimiter).filter((one) => one !== '')) {
    const candidate = join(directory, 'ruby');
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

/** One ruby for all batches; it ends with close(). */
class RubyRenderer implements TemplateRenderer {
  readonly #commands: readonly RubyCommand[];
  readonly #patience: number;
  readonly #warn: TemplateRendererOptions['warn'];
  #engine: RubyCommand['engine'];
  #process: Promise<RubyProcess> | undefined;

  constructor(
    commands: readonly RubyCommand[],
    { patience, warn }: { readonly patience: number; readonly warn: TemplateRendererOptions['warn'] },
  ) {
    this.#commands = commands;
    this.#patience = patience;
    this.#warn = warn;
    this.#engine = commands[0]?.engine ?? 'ruby.wasm';
  }

  get engine(): RubyCommand['engine'] {
    return this.#engine;
  }

  async start(): Promise<void> {
    this.#process ??= this.#startFirst();
    await this.#process;
  }

  preload(): void {
    // The failure stays in #process, where render() meets it.
    this.start().catch(() => undefined);
  }

  async render(batch: readonly TemplateToRender[]): Promise<readonly string[]> {
    if (batch.length === 0) return [];
    this.#process ??= this.#startFirst();
    const ruby = await this.#process;
    const answer = await this.#ask(ruby, JSON.stringify({ templates: batch }));
    const results = parseResults(answer, batch.length);
    const faults = results.flatMap(({ error }, index) =>
      error === undefined ? [] : [describe(batch[index], error)],
    );
    if (faults.length > 0) throw new ProductError('TEMPLATE_INVALID', faults.join('\n'));
    return results.map(({ text = '' }) => text);
  }

  async close(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) return;
    const ruby = await running.catch((error: unknown) => {
      if (isProductError(error, 'RUBY_FAILED')) return undefined;
      throw error;
    });
    await ruby?.close();
  }

  async #ask(ruby: RubyProcess, request: string): Promise<string> {
    try {
      return await ruby.ask(request, this.#patience);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #startFirst(): Promise<RubyProcess> {
    let failure: unknown;
    for (const command of this.#commands) {
      try {
        const ruby = new RubyProcess(command);
        if (await ruby.ready()) {
          this.#engine = command.engine;
          return ruby;
        }
        this.#warn?.(
          `'${command.executable}' was not ready after ${(command.startPatience ?? 0) / 1000} s and was ended; ruby.wasm renders ` +
            'the job templates instead. Mend it, or take it off the PATH',
        );
      } catch (error) {
        if (!isProductError(error, 'RUBY_FAILED')) throw error;
        failure ??= error;
      }
    }
    throw failure;
  }
}

function parseResults(answer: string, count: number): readonly RubyResult[] {
  const parsed: unknown = answer.startsWith('{"results":') ? JSON.parse(answer) : undefined;
  const results =
    typeof parsed === 'object' && parsed !== null && 'results' in parsed ? parsed.results : undefined;
  if (Array.isArray(results) && results.length === count) return results as readonly RubyResult[];
  throw new ProductError(
    'RUBY_FAILED',
    'a template wrote to the standard output of ruby, which is not for templates',
  );
}

function describe(
  template: TemplateToRender | undefined,
  { message, line }: NonNullable<RubyResult['error']>,
): string {
  const place = line === undefined || line === null ? '' : ` (line ${line})`;
  const properties = template?.propertiesAt === undefined ? '' : `; its properties: ${template.propertiesAt}`;
  return `Cannot render '${template?.name ?? ''}'${place}: ${message}${properties}`;
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
