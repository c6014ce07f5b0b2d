import type { TemplateRenderer } from './template-renderer.ts';

export interface TemplateRendererOptions {
  /** An executable; absent means ruby.wasm. `findRuby` looks one up. */
  readonly rubyPath?: string | undefined;
}

/** The native ruby where one is given, else ruby.wasm in a worker thread. Cheap: nothing starts before start() or render(). */
export function createTemplateRenderer(options: TemplateRendererOptions = {}): TemplateRenderer {
  throw new Error(`createTemplateRenderer is not written yet (${options.rubyPath})`);
}

/** The first executable `ruby` of that PATH, if any. */
export async function findRuby(path: string | undefined): Promise<string | undefined> {
  throw new Error(`findRuby is not written yet (${path})`);
}
