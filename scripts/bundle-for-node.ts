import { rename } from 'node:fs/promises';
import { build, type BuildOptions } from 'esbuild';

/** What differs from one bundle to another; absent: CommonJS, as it stands. */
export type BundleOptions = Pick<BuildOptions, 'format' | 'minify' | 'external' | 'banner' | 'plugins'>;

/** Makes one file for the pinned Node of a program's sources, and replaces `outFile` whole, as one may start meanwhile. */
export async function bundleForNode(
  entry: string,
  outFile: string,
  options: BundleOptions = {},
): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile: `${outFile}.partial`,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'warning',
    ...options,
  });
  await rename(`${outFile}.partial`, outFile);
}
