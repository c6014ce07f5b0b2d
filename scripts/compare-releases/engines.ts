import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { rendererOf } from '../../src/bosh/template/create-template-renderer.ts';
import { withNamespaces, withLimits, nativeRuby, wasmRuby } from '../../src/bosh/template/ruby-command.ts';
import type { TemplateRenderer, TemplateToRender } from '../../src/bosh/template/template-renderer.ts';
import { isProductError } from '../../src/errors/product-error.ts';

const run = promisify(execFile);

/** The rendered text of a template, or the error. */
export type Rendered = { readonly text: string } | { readonly error: string };

export interface Engine {
  readonly name: string;
  render(template: TemplateToRender): Promise<Rendered>;
  close(): Promise<void>;
}

/** Returns our renderer with an installed ruby, which must be one that can be confined. */
export const nativeEngine = (rubyPath: string): Engine =>
  engineOf('ruby', rendererOf([withNamespaces(nativeRuby(rubyPath))], {}));

export const wasmEngine = (): Engine =>
  engineOf('ruby.wasm', rendererOf([withNamespaces(wasmRuby()), withLimits(wasmRuby())], {}));

function engineOf(name: string, renderer: TemplateRenderer): Engine {
  return {
    name,
    close: () => renderer.close(),
    render: async (template) => {
      try {
        const [text = ''] = await renderer.render([template]);
        return { text };
      } catch (error) {
        if (isProductError(error, 'TEMPLATE_INVALID')) return { error: error.message };
        // this template ended ruby; the next one starts another ruby
        if (isProductError(error, 'RUBY_FAILED') && error.message.includes(template.name))
          return { error: error.message };
        throw error;
      }
    },
  };
}

/**
 * Returns an engine that runs the bosh CLI's erb_renderer.rb. It runs without confinement, as in the CLI: a
 * template has all rights of this user.
 */
export function upstreamEngine(script: string, { ruby, scratch }: { ruby: string; scratch: string }): Engine {
  const [context, source, target] = ['context.json', 'source.erb', 'rendered'].map((name) =>
    join(scratch, name),
  ) as [string, string, string];
  return {
    name: 'erb_renderer.rb',
    close: async () => undefined,
    render: async (template) => {
      await writeFile(context, JSON.stringify(sorted(template.context)));
      await writeFile(source, template.template);
      try {
        await run(ruby, [script, context, source, target], {
          env: { PATH: process.env['PATH'], LANG: 'C.UTF-8' },
        });
        return { text: await readFile(target, 'utf8') };
      } catch (error) {
        const { stderr, code } = error as { stderr?: string; code?: unknown };
        if (typeof code !== 'number') throw error;
        return { error: (stderr ?? '').trim().split('\n')[0] ?? '' };
      }
    },
  };
}

/** Sorts maps by their keys as Go does when it writes them; templates see that order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
