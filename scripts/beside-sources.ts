import { readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * Returns a plugin for a bundle that stays in the checkout: its sources still find the scripts beside them,
 * wherever the checkout is. `outFile` is the path of the bundle.
 */
export const besideSources = (checkout: string, outFile: string): Plugin => ({
  name: 'beside-sources',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const isOurs =
        path.startsWith(`${checkout}/`) && !path.slice(checkout.length).includes('/node_modules/');
      if (!isOurs || !text.includes('import.meta')) return undefined;
      const specifier = relative(dirname(outFile), path);
      const contents = text
        .replaceAll(
          'import.meta.dirname',
          `(import.meta.dirname + ${JSON.stringify(`/${dirname(specifier)}`)})`,
        )
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(specifier)}, import.meta.url).href`);
      return { contents, loader: 'ts' };
    });
  },
});
